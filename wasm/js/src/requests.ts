/** Performs each request of a session. */

import type { Artifact } from './blobs.js';
import { type Answer, AnswerError, type Assignment, isDeclined, type Newest, type RunnerHost, type Values, weightsOf } from './effects.js';
import { engineForPlan, loadMasks } from './engine.js';
import { exchange, loadJournal } from './exchange.js';
import type { AssignedWork, Update } from './gpu/folkmoot.js';
import { Traffic } from './limits.js';
import { sendLogged, type Written } from './log.js';
import type { AssignedWork as MaskableWork } from './masks/folkmoot.js';
import type { AssignmentOffer, Plan } from './types.js';
import { work } from './work.js';
import { forgetTask, loadMemory, putPending } from './work_store.js';

/** The maximum time for a prefetch of weights. */
const PREFETCH_MILLISECONDS_MAX = 60_000;
/**
 * The time over which clients spread their next check-ins after the day's limit was used up. Otherwise they would all
 * check in at midnight UTC.
 */
const NEW_DAY_MILLISECONDS = 30 * 60 * 1000;

export class Requests {
  /** Finished work whose update is not stored yet. After a reload, the steps since the last checkpoint are repeated. */
  private finished: AssignedWork | null = null;

  /** An interrupted upload. The coordinator's next answer shows how much of it arrived. */
  private broken: { assignmentId: string; offset: number; written: Written } | null = null;

  /** Ends the current training after its next step. The update then contains the weights so far. */
  private asked = new AbortController();

  private prefetching: { digest: string; controller: AbortController; ended: Promise<void> } | null = null;

  constructor(private readonly host: RunnerHost) {}

  free(): void {
    this.endPrefetch();
    this.finished?.free();
    this.finished = null;
  }

  async checkIn(value: Values, signal: AbortSignal): Promise<unknown> {
    const { transport, pace, needConsent, day } = this.host;
    const spentUntil = day.spentUntil();
    if (spentUntil !== null) {
      const wait = Math.max(0, spentUntil - Date.now());
      return { kind: 'wait', retry_after_milliseconds_min: wait, retry_after_milliseconds_max: wait + NEW_DAY_MILLISECONDS };
    }
    await pace.untilAllowed(signal);
    await needConsent();
    const request = {
      method: 'POST',
      path: `/v1/check-in?wait_seconds=${value.wait_seconds}`,
      json: value.request,
      millisecondsMax: (30 + value.wait_seconds) * 1000,
    } as const;
    const answer = await sendLogged(this.host, { action: 'asked' }, (traffic) => transport.json({ ...request, traffic }, signal));
    const { assignment } = answer as { assignment?: Assignment };
    if (assignment !== undefined) {
      await this.host.endorsements.keep(assignment);
    }
    if (assignment?.is_masked === true) {
      // The session needs the module to take the assignment. If it cannot be loaded, the check-in is repeated and brings
      // the same assignment.
      await loadMasks();
    }
    return answer;
  }

  /** Fetches a blob. A plan is screened before anything else is fetched. */
  async fetch(value: Values, underWay: string | undefined, signal: AbortSignal): Promise<number> {
    const { blobs } = this.host;
    const assignment = JSON.parse(underWay ?? 'null') as Assignment;
    const { artifact, kind } = value;
    // A prefetch of other weights would compete with the assignment's download.
    const weights = weightsOf(assignment).at(-1);
    if (this.prefetching?.digest !== weights?.digest) {
      this.endPrefetch();
    }
    if (this.prefetching?.digest === artifact.digest) {
      await this.prefetching.ended;
    }
    if (kind === 'plan') {
      await this.unlessDeclined(assignment, () => this.keepBudget(assignment));
      await this.host.endorsements.check(assignment);
    }
    const { task_id: taskId, round_number: roundNumber } = assignment;
    const entry = { action: 'fetched', taskId, roundNumber, detail: kind } as const;
    const fetched = await sendLogged(this.host, entry, (traffic) => blobs.fetch(artifact, signal, traffic));
    if (kind === 'plan') {
      await this.unlessDeclined(assignment, () => this.screen(assignment));
    }
    return fetched;
  }

  /** If a task is declined, also deletes the data kept for it, because they were computed from the same examples. */
  private async unlessDeclined<T>(assignment: Assignment, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isDeclined(error)) {
        await forgetTask(this.host.storage, assignment.task_id).catch((problem: unknown) => {
          console.warn('folkmoot: could not delete what is kept of a declined task', problem);
        });
      }
      throw error;
    }
  }

  /**
   * Declines assignments that exceed the app's limits. The user can read which limit it was; the coordinator does not
   * learn it.
   */
  private async keepBudget(assignment: Assignment, plan?: Uint8Array): Promise<void> {
    const { budget, log } = this.host;
    const engine = await engineForPlan(this.host.engine, plan);
    const detail = engine.overBudget(plan, JSON.stringify(assignment), budget.json);
    if (detail !== undefined) {
      const { task_id: taskId, round_number: roundNumber } = assignment;
      await log.write({ action: 'declined', bytesSent: 0, bytesReceived: 0, taskId, roundNumber, detail });
      throw new AnswerError({ work_failed: { reason: 'declined', detail: '' } });
    }
  }

  private async screen(assignment: Assignment): Promise<void> {
    const { blobs, ask, day } = this.host;
    const plan = await blobs.read(assignment.plan.digest);
    const engine = await engineForPlan(this.host.engine, plan);
    const described = JSON.stringify(assignment);
    await this.keepBudget(assignment, plan);
    const updateBytes = engine.screen(plan ?? new Uint8Array(), this.host.privateAttributes, described);
    const downloadBytes = await blobs.missingBytes([assignment.model, ...weightsOf(assignment)]);
    const offer: AssignmentOffer = {
      assignmentId: assignment.assignment_id,
      taskId: assignment.task_id,
      roundNumber: assignment.round_number,
      baseVersion: assignment.base_version,
      downloadBytes,
      uploadBytes: updateBytes,
      plan: JSON.parse(new TextDecoder().decode(plan)) as Plan,
    };
    const isAgreed = ask === null || (await ask(offer));
    if (!isAgreed || !(await day.allows(downloadBytes + updateBytes))) {
      throw new AnswerError({ work_failed: { reason: 'declined', detail: '' } });
    }
  }

  /** Prefetches weights for the next assignment, unless training is paused. One prefetch runs at a time. */
  prefetch(artifact: Artifact): void {
    const { digest } = artifact;
    const { pace, day, budget } = this.host;
    if (
      artifact.bytes > budget.modelBytesMax ||
      this.prefetching?.digest === digest ||
      pace.pauseReason !== null ||
      !day.hasRoomFor(artifact.bytes)
    ) {
      return;
    }
    this.endPrefetch();
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, AbortSignal.timeout(PREFETCH_MILLISECONDS_MAX)]);
    const ended = this.prefetchNow(artifact, signal).finally(() => {
      if (this.prefetching?.controller === controller) {
        this.prefetching = null;
      }
    });
    this.prefetching = { digest, controller, ended };
  }

  endPrefetch(): void {
    this.prefetching?.controller.abort();
    this.prefetching = null;
  }

  private async prefetchNow(artifact: Artifact, signal: AbortSignal): Promise<void> {
    const { blobs, storage } = this.host;
    const entry = { action: 'fetched', detail: 'weights, prefetched' } as const;
    try {
      await sendLogged(this.host, entry, (traffic) => blobs.fetch(artifact, signal, traffic));
      const newest = await storage.get<Newest>('state', 'newest');
      // Weights of another task do not fit the current model.
      if (newest !== undefined && newest.weights.bytes === artifact.bytes) {
        const { plan, model, task_id } = newest;
        await storage.put('state', { plan, model, task_id, weights: artifact }, 'newest');
        this.host.emit({ name: 'model', value: {} });
      }
    } catch {
      // If the prefetch failed, the assignment that needs the weights fetches them.
    }
  }

  async train(assignment: Assignment, signal: AbortSignal): Promise<Answer> {
    this.finished?.free();
    this.finished = null;
    const begun = performance.now();
    this.asked = new AbortController();
    const asked = this.asked.signal;
    await this.host.needConsent();
    // The endorsement was valid when the plan arrived, but the page may have been reopened with other keys since.
    await this.host.endorsements.check(assignment);
    // All blobs are now present.
    const { plan, model, weights, weights_parts, task_id } = assignment;
    const newest: Newest = { plan, model, weights, task_id, ...(weights_parts && { weights_parts }) };
    await this.host.storage.put('state', newest, 'newest').catch(() => undefined);
    this.host.emit({ name: 'model', value: {} });
    const { task, kind } = await this.unlessDeclined(assignment, () => work(this.host, assignment, signal, asked));
    this.finished = task;
    const { task_id: taskId, round_number: roundNumber } = assignment;
    const detail = `${Math.round(performance.now() - begun)} ms`;
    const action = kind === 'evaluation' ? 'evaluated' : 'trained';
    await this.host.log.write({ action, bytesSent: 0, bytesReceived: 0, taskId, roundNumber, detail });
    return 'trained';
  }

  /** Waits for the coordinator to ask for a partial update. */
  listen(value: Values, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/assignments/${value.assignment_id}/ask?wait_seconds=${value.wait_seconds}`;
    const request = { method: 'GET', path, millisecondsMax: (30 + value.wait_seconds) * 1000 } as const;
    const entry = { action: 'asked', detail: 'asked whether the round waits for the update' } as const;
    return sendLogged(this.host, entry, (traffic) => this.host.transport.json({ ...request, traffic }, signal));
  }

  finishEarly(): void {
    this.asked.abort();
  }

  async prepare(assignment: Assignment): Promise<Answer> {
    const { storage } = this.host;
    if (this.finished === null) {
      const detail = 'the result of the training or evaluation was lost';
      throw new AnswerError({ work_failed: { reason: 'state_lost', detail } });
    }
    const update = await this.update(this.finished, assignment);
    this.finished.free();
    this.finished = null;
    const { bytes, digest, memory, personal, control } = update;
    update.free();
    const id = assignment.assignment_id;
    try {
      await putPending(storage, id, assignment.task_id, { memory, personal, control });
      await storage.put('work', { bytes, digest }, `${id}.update`);
    } catch (error) {
      throw new AnswerError({ work_failed: { reason: 'training_failed', detail: String(error) } });
    }
    return { prepared: { digest, length: bytes.byteLength } };
  }

  private async update(finished: AssignedWork, assignment: Assignment): Promise<Update> {
    const { budget, key, storage } = this.host;
    if (assignment.is_masked !== true) {
      return finished.update(await loadMemory(storage, assignment.task_id));
    }
    const journal = await loadJournal(storage, assignment.assignment_id);
    // Work with masks runs in the module `masks`.
    const maskable = finished as MaskableWork;
    return key.withDeviceKey((deviceKey) => maskable.maskedUpdate(journal, budget.json, deviceKey));
  }

  /** Takes a step of secure aggregation. */
  exchange({ assignment, step }: Values, signal: AbortSignal): Promise<string> {
    return exchange(this.host, assignment, step, signal);
  }

  async upload(value: Values, signal: AbortSignal): Promise<unknown> {
    const { storage, transport, log, emit, day } = this.host;
    const id = value.assignment_id;
    const stored = await storage.get<{ bytes: Uint8Array; digest: string }>('work', `${id}.update`);
    if (stored === undefined || stored.digest !== value.digest) {
      throw new AnswerError('update_lost');
    }
    emit({ name: 'uploading', value: { assignmentId: id, total: stored.bytes.byteLength } });
    const update = { bytes: stored.bytes, offset: value.offset, digest: stored.digest };
    // The entry is written before sending, because a page that is closed in the meantime has sent some bytes.
    const bytesSent = stored.bytes.byteLength - value.offset;
    const written = await log.write({ action: 'sent', bytesSent, bytesReceived: 0, detail: `update ${stored.digest}` });
    this.broken = written === null ? null : { assignmentId: id, offset: value.offset, written };
    const request = { method: 'PUT', path: updatePath(value), update, traffic: new Traffic(day) } as const;
    try {
      const status = await transport.json(request, signal);
      this.broken = null;
      return status;
    } finally {
      await day.save();
    }
  }

  async queryUpload(value: Values, signal: AbortSignal): Promise<unknown> {
    const request = { method: 'GET', path: updatePath(value) } as const;
    const entry = { action: 'asked', detail: 'asked how much of the update has arrived' } as const;
    const status = await sendLogged(this.host, entry, (traffic) =>
      this.host.transport.json<{ received_bytes?: unknown } | null>({ ...request, traffic }, signal),
    );
    const { broken } = this;
    const received = status?.received_bytes;
    if (broken?.assignmentId === value.assignment_id && typeof received === 'number' && received >= broken.offset) {
      this.broken = null;
      await this.host.log.arrived(broken.written, received - broken.offset);
    }
    return status;
  }

  report(value: Values, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/assignments/${value.assignment_id}/report`;
    const request = { method: 'POST', path, json: value.report } as const;
    return sendLogged(this.host, { action: 'reported' }, (traffic) => this.host.transport.json({ ...request, traffic }, signal));
  }

  abort(value: Values, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/assignments/${value.assignment_id}/abort`;
    const request = { method: 'POST', path, json: value.abort } as const;
    const entry = { action: 'told_gave_up' } as const;
    return sendLogged(this.host, entry, (traffic) => this.host.transport.json({ ...request, traffic }, signal));
  }
}

function updatePath(value: Values): string {
  return `/v1/assignments/${value.assignment_id}/update`;
}
