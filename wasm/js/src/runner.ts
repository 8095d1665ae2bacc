/** Performs the effects of a session and feeds it events. */

import { TooLargeError } from './blobs.js';
import { type Answer, answerOf, type Effect, type RunnerHost } from './effects.js';
import { bringsMasks, ModuleError, moveSession } from './engine.js';
import type { BrowserSession } from './gpu/folkmoot.js';
import { type ClientEvent, camelCase, camelCased } from './messages.js';
import { Requests } from './requests.js';
import { RequestError } from './transport.js';
import { forgetWork, settleMemories } from './work_store.js';

type SessionEvent =
  | { event: 'started' | 'wake' | 'stop_requested' | 'conditions_ended' }
  | { event: 'answered'; request_id: number; answer: Answer };
type StopCause = 'requested' | 'conditions_ended' | { refused: string | null };

/** The maximum time to sleep. The wall clock may jump during a longer sleep. */
const SLEEP_MILLISECONDS_MAX = 60_000;
/** The maximum time that a stopping client waits for the coordinator to answer its last messages. */
const SHUTDOWN_MILLISECONDS_MAX = 5000;

export class Runner {
  private readonly events: SessionEvent[] = [];
  private readonly requests = new Map<number, AbortController>();
  private wake: () => void = () => undefined;
  private alarm = Infinity;
  private conditionsEndAt = Infinity;
  private state = 'idle';
  private detail = '';
  private fatal: unknown = null;
  private isAssigned = false;
  private readonly stopping = new AbortController();
  private readonly work: Requests;

  constructor(
    private readonly host: RunnerHost,
    private session: BrowserSession,
  ) {
    this.work = new Requests(host);
  }

  /** Runs until the session stops, and returns the cause. */
  async run(): Promise<{ cause: StopCause; detail: string }> {
    try {
      await this.step({ event: 'started' });
      for (;;) {
        const cause = this.stopCause();
        if (cause === 'conditions_ended') {
          await this.host.pace.untilAllowed(this.stopping.signal);
          if (this.stopping.signal.aborted) {
            return { cause: 'requested', detail: this.detail };
          }
          await this.step({ event: 'started' });
        } else if (cause !== null) {
          return { cause, detail: this.detail };
        }
        await this.step(await this.next());
      }
    } finally {
      this.requests.forEach((request) => request.abort());
      this.work.free();
    }
  }

  /** Frees the session. Call this when the run has ended. */
  free(): void {
    this.session.free();
  }

  /** Gives up the assignment, notifies the coordinator within a time limit, and ends the run. */
  stop(): void {
    this.stopping.abort();
    this.work.endPrefetch();
    this.push({ event: 'stop_requested' });
    setTimeout(() => this.fail(new StoppedError()), SHUTDOWN_MILLISECONDS_MAX);
  }

  /** Called when the reason to pause changes. The assignment survives a short pause. */
  conditionsChanged(reason: string | null): void {
    if (reason !== null) {
      this.work.endPrefetch();
    }
    const patience = this.isAssigned ? this.host.giveUpAfterSeconds * 1000 : 0;
    this.conditionsEndAt = reason === null ? Infinity : Date.now() + patience;
    this.wake();
  }

  /** Gives up the current assignment, because its inputs are no longer there. */
  giveUp(): void {
    if (this.isAssigned) {
      this.push({ event: 'conditions_ended' });
    }
  }

  private stopCause(): StopCause | null {
    return this.state === 'stopped' ? (JSON.parse(this.session.state()) as { cause: StopCause }).cause : null;
  }

  private async next(): Promise<SessionEvent> {
    for (;;) {
      if (this.fatal !== null) {
        throw this.fatal;
      }
      const event = this.events.shift();
      if (event !== undefined) {
        return event;
      }
      const now = Date.now();
      if (this.conditionsEndAt <= now) {
        this.conditionsEndAt = Infinity;
        return { event: 'conditions_ended' };
      }
      if (this.alarm <= now) {
        this.alarm = Infinity;
        return { event: 'wake' };
      }
      const pause = Math.min(SLEEP_MILLISECONDS_MAX, this.alarm - now, this.conditionsEndAt - now);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pause);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  private push(event: SessionEvent): void {
    this.events.push(event);
    this.wake();
  }

  private fail(error: unknown): void {
    this.fatal ??= error;
    this.wake();
  }

  private async step(event: SessionEvent): Promise<void> {
    if (event.event !== 'answered') {
      this.session.offer(await this.offer(), this.host.waitSeconds);
    } else if (bringsMasks(event.answer)) {
      this.session = await moveSession(this.session, await this.offer(), this.host.waitSeconds);
    }
    const stepped = JSON.parse(this.stepSession(event)) as {
      effects: Effect[];
      event: ({ kind: string } & Record<string, unknown>) | null;
      state: string;
    };
    this.state = stepped.state;
    this.isAssigned = this.session.assignmentId() !== undefined;
    if (stepped.event !== null) {
      await this.tell(stepped.event);
    }
    for (const effect of stepped.effects) {
      await this.perform(effect);
    }
  }

  private async offer(): Promise<string> {
    return JSON.stringify({ example_count: await this.host.exampleCount(), attributes: this.host.attributes });
  }

  /** An answer that the session cannot parse does not come from a coordinator. It is treated as a network failure. */
  private stepSession(event: SessionEvent): string {
    try {
      return this.session.step(JSON.stringify(event), Date.now(), this.detail);
    } catch (error) {
      const name = event.event === 'answered' ? nameOfResult(event.answer) : null;
      if (name === null || event.event !== 'answered' || error instanceof WebAssembly.RuntimeError) {
        throw error;
      }
      this.detail = `the answer cannot be parsed: ${String(error)}`;
      const { failure } = this.host.transport.broken(this.detail).refusal;
      const answered = { ...event, answer: { [name]: { Err: failure } } };
      return this.session.step(JSON.stringify(answered), Date.now(), this.detail);
    }
  }

  private async tell({ kind, ...value }: { kind: string } & Record<string, unknown>): Promise<void> {
    const name = kind === 'accepted' ? 'round' : camelCase(kind);
    this.host.emit({ name, value: camelCased(value) } as unknown as ClientEvent);
    if (kind === 'aborted') {
      const detail = [value['reason'], value['detail']].filter((text) => text !== '').join(': ');
      await this.host.log.write({ action: 'gave_up', bytesSent: 0, bytesReceived: 0, detail });
    }
  }

  private async perform({ effect, value }: Effect): Promise<void> {
    const { storage } = this.host;
    switch (effect) {
      case 'persist':
        await storage.put('state', this.session.toJson(), 'session');
        return;
      case 'wake_at':
        this.alarm = value;
        return;
      case 'cancel':
        this.requests.get(value.request_id)?.abort();
        return;
      case 'forget':
        await settleMemories(storage, value.assignment_id, value.was_accepted);
        await forgetWork(storage, value.assignment_id);
        this.host.blobs.forgetUnstored();
        return;
      case 'finish_early':
        this.work.finishEarly();
        return;
      case 'prefetch':
        this.work.prefetch(value.artifact);
        return;
      default:
        this.spawn(value.request_id, ...this.request({ effect, value }));
    }
  }

  /** Returns the request of an effect, and the name of its answer if the answer is a result. */
  private request({ effect, value }: Effect): [string, (signal: AbortSignal) => Promise<unknown>] {
    const { work } = this;
    switch (effect) {
      case 'check_in':
        return ['check_in', (signal) => work.checkIn(value, signal)];
      case 'fetch':
        return ['fetch', (signal) => work.fetch(value, this.session.assignment(), signal)];
      case 'train':
        return ['', (signal) => work.train(value.assignment, signal)];
      case 'listen':
        return ['ask', (signal) => work.listen(value, signal)];
      case 'exchange':
        return ['exchanged', (signal) => work.exchange(value, signal)];
      case 'prepare':
        return ['', () => work.prepare(value.assignment)];
      case 'query_upload':
        return ['upload', (signal) => work.queryUpload(value, signal)];
      case 'upload':
        return ['upload', (signal) => work.upload(value, signal)];
      case 'send_report':
        return ['report', (signal) => work.report(value, signal)];
      case 'send_abort':
        return ['abort', (signal) => work.abort(value, signal)];
      default:
        throw new Error(`the session asks for \`${effect}\`, which this build does not know`);
    }
  }

  /** Starts a request. Its answer becomes an event. */
  private spawn(request_id: number, name: string, begin: (signal: AbortSignal) => Promise<unknown>): void {
    const controller = new AbortController();
    this.requests.set(request_id, controller);
    const answered = (answer: Answer) => this.push({ event: 'answered', request_id, answer });
    begin(controller.signal)
      .then((value) => answered(name === '' ? (value as Answer) : { [name]: { Ok: value } }))
      .catch((error: unknown) => {
        if (controller.signal.aborted) {
          return;
        }
        const answer = this.failureAnswer(name, error);
        return answer === null ? this.fail(error) : answered(answer);
      })
      .finally(() => this.requests.delete(request_id));
  }

  private failureAnswer(name: string, error: unknown): Answer | null {
    if (error instanceof RequestError && name !== '') {
      this.detail = error.message;
      return { [name]: { Err: error.refusal.failure } };
    }
    if (error instanceof ModuleError && name !== '') {
      this.detail = error.message;
      return { [name]: { Err: this.host.transport.broken(error.message).refusal.failure } };
    }
    if (error instanceof TooLargeError || error instanceof ModuleError) {
      return { work_failed: { reason: 'fetch_failed', detail: error.message } };
    }
    // Anything else is a bug, or the module has failed.
    return answerOf(error);
  }
}

/** Returns the name of a request that succeeded, or null. */
function nameOfResult(answer: Answer): string | null {
  const [name, value] = typeof answer === 'object' ? (Object.entries(answer)[0] ?? []) : [];
  return name !== undefined && typeof value === 'object' && value !== null && 'Ok' in value ? name : null;
}

/** The coordinator did not confirm in time that the client has stopped. */
export class StoppedError extends Error {}
