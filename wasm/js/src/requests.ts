/** What each request of a session does. */

import type { Artifact } from './blobs.js';
import { AnswerError, type Answer, type Assignment, type RunnerHost, type Values } from './effects.js';
import type { AssignedWork } from './gpu/folkmoot.js';
import type { AssignmentOffer } from './types.js';
import { work } from './work.js';
import { loadMemory } from './work_store.js';

/** How long weights that are offered may take to come. */
const PREFETCH_MILLISECONDS_MAX = 60_000;

export class Requests {
  /** What was trained or measured and is no update yet; a reload in between trains the last steps again. */
  private finished: AssignedWork | null = null;

  constructor(private readonly host: RunnerHost) {}

  free(): void {
    this.finished?.free();
    this.finished = null;
  }

  async checkIn(value: Values, signal: AbortSignal): Promise<unknown> {
    const { transport, log, pace } = this.host;
    await pace.untilAllowed(signal);
    const answer = await transport.json(
      {
        method: 'POST',
        path: `/v1/check-in?wait_seconds=${value.wait_seconds}`,
        json: value.request,
        millisecondsMax: (30 + value.wait_seconds) * 1000,
      },
      signal,
    );
    await log.write({ action: 'asked', ...this.traffic() });
    return answer;
  }

  /** Fetches a blob. When it is the plan, what it asks of the device is looked at before anything else is fetched. */
  async fetch(value: Values, underWay: string | undefined, signal: AbortSignal): Promise<number> {
    const { blobs, log, storage } = this.host;
    const assignment = JSON.parse(underWay ?? 'null') as Assignment;
    const { artifact, kind } = value;
    const fetched = await blobs.fetch(artifact, signal);
    const { task_id: taskId, round_number: roundNumber } = assignment;
    if (fetched > 0) {
      await log.write({ action: 'fetched', ...this.traffic(), taskId, roundNumber, detail: kind });
    }
    if (kind === 'plan') {
      await this.screen(assignment);
    }
    if (kind === 'weights') {
      await storage.put('state', { model: assignment.model, weights: artifact }, 'newest').catch(() => undefined);
      this.host.emit({ name: 'model', value: {} });
    }
    return fetched;
  }

  private async screen(assignment: Assignment): Promise<void> {
    const { blobs, engine, ask } = this.host;
    const plan = await blobs.read(assignment.plan.digest);
    engine.screen(plan ?? new Uint8Array(), this.host.privateAttributes);
    const offer: AssignmentOffer = {
      assignmentId: assignment.assignment_id,
      taskId: assignment.task_id,
      roundNumber: assignment.round_number,
      baseVersion: assignment.base_version,
      downloadBytes: assignment.model.bytes + assignment.weights.bytes,
      plan: JSON.parse(new TextDecoder().decode(plan)) as unknown,
    };
    if (ask !== null && !(await ask(offer))) {
      throw new AnswerError({ work_failed: { reason: 'declined', detail: '' } });
    }
  }

  async prefetch(artifact: Artifact): Promise<void> {
    const { blobs, storage } = this.host;
    try {
      await blobs.fetch(artifact, AbortSignal.timeout(PREFETCH_MILLISECONDS_MAX));
      const newest = await storage.get<{ model: Artifact; weights: Artifact }>('state', 'newest');
      // Weights of another task do not fit the model that is here.
      if (newest !== undefined && newest.weights.bytes === artifact.bytes) {
        await storage.put('state', { ...newest, weights: artifact }, 'newest');
        this.host.emit({ name: 'model', value: {} });
      }
    } catch {
      // An assignment that needs them fetches them.
    }
  }

  async train(assignment: Assignment, signal: AbortSignal): Promise<Answer> {
    this.finished?.free();
    this.finished = null;
    const begun = performance.now();
    this.finished = await work(this.host, assignment, signal);
    const { task_id: taskId, round_number: roundNumber } = assignment;
    const detail = `${Math.round(performance.now() - begun)} ms`;
    await this.host.log.write({ action: 'trained', bytesSent: 0, bytesReceived: 0, taskId, roundNumber, detail });
    return 'trained';
  }

  async prepare(assignment: Assignment): Promise<Answer> {
    const { storage } = this.host;
    if (this.finished === null) {
      const detail = 'what was trained or measured is gone';
      throw new AnswerError({ work_failed: { reason: 'state_lost', detail } });
    }
    const update = this.finished.update(await loadMemory(storage, assignment.task_id));
    this.finished.free();
    this.finished = null;
    const { bytes, digest, memory } = update;
    update.free();
    const id = assignment.assignment_id;
    try {
      await storage.remove('work', `${id}.memory`);
      if (memory !== undefined) {
        await storage.put('work', { task: assignment.task_id, bytes: memory }, `${id}.memory`);
      }
      await storage.put('work', { bytes, digest }, `${id}.update`);
    } catch (error) {
      throw new AnswerError({ work_failed: { reason: 'training_failed', detail: String(error) } });
    }
    return { prepared: { digest, length: bytes.byteLength } };
  }

  async upload(value: Values, signal: AbortSignal): Promise<unknown> {
    const { storage, transport, log, emit } = this.host;
    const id = value.assignment_id;
    const stored = await storage.get<{ bytes: Uint8Array; digest: string }>('work', `${id}.update`);
    if (stored === undefined || stored.digest !== value.digest) {
      throw new AnswerError('update_lost');
    }
    emit({ name: 'uploading', value: { assignment_id: id, total: stored.bytes.byteLength } });
    const update = { bytes: stored.bytes, offset: value.offset, digest: stored.digest };
    const status = await transport.json({ method: 'PUT', path: updatePath(value), update }, signal);
    await log.write({ action: 'sent', ...this.traffic(), detail: `update ${stored.digest}` });
    return status;
  }

  queryUpload(value: Values, signal: AbortSignal): Promise<unknown> {
    return this.host.transport.json({ method: 'GET', path: updatePath(value) }, signal);
  }

  report(value: Values, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/assignments/${value.assignment_id}/report`;
    return this.host.transport.json({ method: 'POST', path, json: value.report }, signal);
  }

  abort(value: Values, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/assignments/${value.assignment_id}/abort`;
    return this.host.transport.json({ method: 'POST', path, json: value.abort }, signal);
  }

  private traffic(): { bytesSent: number; bytesReceived: number } {
    const { sent, received } = this.host.transport.traffic;
    this.host.transport.traffic = { sent: 0, received: 0 };
    return { bytesSent: sent, bytesReceived: received };
  }
}

function updatePath(value: Values): string {
  return `/v1/assignments/${value.assignment_id}/update`;
}
