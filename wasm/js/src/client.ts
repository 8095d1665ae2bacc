/** The client inside the worker: the page's calls, and the session's run. */

import { Blobs } from './blobs.js';
import { Devices } from './devices.js';
import type { RunnerHost } from './effects.js';
import { Endorsements } from './endorsements.js';
import { type Engine, loadEngine, openSession } from './engine.js';
import { Examples } from './examples.js';
import { ClientKey } from './key.js';
import { type Budget, budgetOf, DayBytes, Traffic } from './limits.js';
import { Log } from './log.js';
import type { ClientEvent, WorkerOptions } from './messages.js';
import { Models } from './models.js';
import { Pace } from './pace.js';
import { sleep, untilReached } from './retry.js';
import type { AskLoop } from './run_loop.js';
import { Runner, StoppedError } from './runner.js';
import { databaseName, Storage } from './storage.js';
import { RequestError, Transport } from './transport.js';
import { type AssignmentOffer, type Example, FolkmootError, type LogEntry, type ModelUpdate, type Prediction } from './types.js';
import { forgetAllBut, forgetAllMade, forgetOldMemories } from './work_store.js';

/** Seconds that a check-in waits for an assignment. */
const WAIT_SECONDS = 30;

interface Parts {
  engine: Engine;
  storage: Storage;
  key: ClientKey;
  transport: Transport;
  blobs: Blobs;
  examples: Examples;
  devices: Devices;
  log: Log;
  day: DayBytes;
  budget: Budget;
  endorsements: Endorsements;
}

/** The functions that ask the page. */
interface Asking {
  before: (assignment: AssignmentOffer) => Promise<boolean>;
  exampleCount: () => Promise<number>;
  loop: AskLoop;
}

/** Messages between the tabs of one client. */
type Word = 'withdrawn' | 'cleared';

export class Client {
  /** The other tabs of this client. */
  private readonly tabs: BroadcastChannel;
  private readonly pace = new Pace((reason) => this.conditionsChanged(reason));
  private running: { runner: Runner | null; stop: AbortController; ended: Promise<void> } | null = null;

  private constructor(
    private readonly options: WorkerOptions,
    private readonly parts: Parts,
    private readonly models: Models,
    private readonly emit: (event: ClientEvent) => void,
    private readonly ask: Asking,
  ) {
    this.tabs = new BroadcastChannel(databaseName(options.name ?? 'default'));
    this.tabs.onmessage = ({ data }: MessageEvent<Word>) => {
      if (data === 'withdrawn') {
        void this.stop();
      } else {
        this.running?.runner?.giveUp();
      }
    };
  }

  static async connect(options: WorkerOptions, emit: (event: ClientEvent) => void, ask: Asking): Promise<Client> {
    const name = options.name ?? 'default';
    const engine = await loadEngine(options.device ?? 'auto');
    const budget = budgetOf(engine, options.limits);
    const storage = await Storage.open(name);
    const examples = new Examples(storage, options.examples, options.trainer !== null);
    // Two tabs that open at the same time must generate only one key.
    const key = await navigator.locks.request(`${databaseName(name)}.key`, () => ClientKey.loadOrGenerate(storage));
    const transport = new Transport(options.coordinator, engine, key);
    const blobs = new Blobs(storage, engine, transport);
    const devices = new Devices(storage, options.device ?? 'auto', emit);
    const log = new Log(storage);
    const day = new DayBytes(storage, options.limits?.bytesPerDay);
    const endorsements = await Endorsements.open(storage, transport.coordinator, options.endorsementKeys);
    const parts = { engine, storage, key, transport, blobs, examples, devices, log, day, budget, endorsements };
    return new Client(options, parts, new Models({ ...parts, emit }, options.channel), emit, ask);
  }

  setConditions(pause: string | null, cpuShare: number): void {
    this.pace.set(pause, cpuShare);
  }

  /** Destroys the graphics adapter, as if it had been unplugged. */
  loseDevice(): void {
    this.parts.devices.destroy();
  }

  addExamples(examples: Example[]): Promise<void> {
    return this.parts.examples.add(examples);
  }

  countExamples(): Promise<number> {
    return this.parts.examples.count();
  }

  async clearExamples(): Promise<void> {
    await this.parts.storage.clear('examples');
    this.running?.runner?.giveUp();
    this.tabs.postMessage('cleared' satisfies Word);
    await forgetAllMade(this.parts.storage);
  }

  readLog(): Promise<LogEntry[]> {
    return this.parts.log.read();
  }

  async hasConsent(): Promise<boolean> {
    return (await this.parts.storage.get('state', 'consent')) !== undefined;
  }

  async giveConsent(text: string): Promise<void> {
    await this.parts.storage.put('state', { at: Date.now(), text }, 'consent');
    await this.parts.log.write({ action: 'consent', bytesSent: 0, bytesReceived: 0, detail: `given: ${text}` });
  }

  /** Stops this and all other tabs, and deletes everything computed from the examples. */
  async withdrawConsent(): Promise<void> {
    const stopped = this.stop();
    this.tabs.postMessage('withdrawn' satisfies Word);
    try {
      await this.parts.storage.remove('state', 'consent');
    } finally {
      await stopped;
    }
    await forgetAllMade(this.parts.storage);
    await this.parts.log.write({ action: 'consent', bytesSent: 0, bytesReceived: 0, detail: 'withdrawn' });
  }

  private async needConsent(): Promise<void> {
    if (!(await this.hasConsent())) {
      throw new FolkmootError('consent_needed', 'the user has not agreed yet; ask the user, then call consent.give()');
    }
  }

  /** Starts to take part as soon as no other tab of this client does. */
  async start(): Promise<void> {
    await this.needConsent();
    if (this.running !== null) {
      return;
    }
    const stop = new AbortController();
    this.running = { runner: null, stop, ended: Promise.resolve() };
    this.running.ended = this.takePart(stop.signal);
  }

  /** Stops taking part and gives up the current assignment. */
  async stop(): Promise<void> {
    this.running?.stop.abort();
    await this.running?.ended;
  }

  /** Stops taking part and deletes everything. */
  async forget(): Promise<void> {
    this.tabs.postMessage('withdrawn' satisfies Word);
    this.tabs.close();
    await this.stop();
    this.models.free();
    this.parts.log.close();
    this.parts.storage.close();
    await Storage.remove(this.options.name ?? 'default');
  }

  /** Enrols if necessary, without retries, and fetches the model that is rolled out to this device. */
  async updateModel(): Promise<ModelUpdate | null> {
    const { signal } = new AbortController();
    await this.ensureEnrolled(signal, new Traffic(this.parts.day));
    return this.models.update(signal);
  }

  predict(features: Float32Array): Promise<Prediction> {
    return this.models.predict(features);
  }

  private async takePart(signal: AbortSignal): Promise<void> {
    let reason = 'requested';
    let detail = '';
    try {
      const lock = databaseName(this.options.name ?? 'default');
      const first = await navigator.locks.request(lock, { ifAvailable: true }, async (held) => {
        if (held !== null) {
          [reason, detail] = await this.runSession(signal);
        }
        return held !== null;
      });
      if (!first) {
        this.emit({ name: 'standby', value: {} });
        await navigator.locks.request(lock, { signal }, async () => {
          [reason, detail] = await this.runSession(signal);
        });
      }
    } catch (error) {
      [reason, detail] = signal.aborted ? ['requested', ''] : failureOf(error);
    }
    this.running = null;
    this.emit({ name: 'stopped', value: { reason, detail } });
  }

  /** Another tab may have withdrawn the consent, even while this one waited for its turn. */
  private async runSession(signal: AbortSignal): Promise<[reason: string, detail: string]> {
    try {
      return await this.runSessionNow(signal);
    } finally {
      // The tab that withdrew consent deleted this data, but this tab may have stored some since.
      if (!(await this.hasConsent())) {
        await forgetAllMade(this.parts.storage);
      }
    }
  }

  private async runSessionNow(signal: AbortSignal): Promise<[reason: string, detail: string]> {
    let mayEnrolAgain = true;
    await forgetOldMemories(this.parts.storage);
    await this.parts.day.load();
    for (;;) {
      await this.needConsent();
      const traffic = new Traffic(this.parts.day);
      await untilReached({ ...this.parts, pace: this.pace, emit: this.emit }, signal, () => this.ensureEnrolled(signal, traffic));
      await this.untilExamples(signal);
      await this.needConsent();
      const { cause, detail } = await this.runOnce(signal);
      const refused = typeof cause === 'object' ? cause.refused : null;
      if (refused === 'client_unknown' && mayEnrolAgain && this.options.enrolmentToken !== undefined) {
        mayEnrolAgain = false;
        this.parts.transport.clientId = null;
        await this.parts.storage.remove('state', 'enrolment');
        continue;
      }
      return typeof cause === 'object' ? ['refused', `${refused ?? 'no code'}: ${detail}`] : [cause, detail];
    }
  }

  private async runOnce(signal: AbortSignal): ReturnType<Runner['run']> {
    const { engine, storage } = this.parts;
    const { attributes = {}, waitSeconds = WAIT_SECONDS } = this.options;
    const offer = JSON.stringify({ example_count: await this.exampleCount(), attributes });
    const stored = await storage.get<string>('state', 'session');
    const reaching = { engine, pace: this.pace, emit: this.emit };
    const session = await untilReached(reaching, signal, () => openSession(engine, stored, offer, waitSeconds));
    await forgetAllBut(storage, session.assignmentId() ?? null);
    const { trainer } = this.options;
    const loop = trainer === null ? null : { ...trainer, run: this.ask.loop };
    const host: RunnerHost = {
      ...this.parts,
      pace: this.pace,
      emit: this.emit,
      ask: this.options.asksBefore ? (offer) => this.mayTake(offer) : null,
      loop,
      exampleCount: () => this.exampleCount(),
      budget: this.parts.budget,
      privateAttributes: JSON.stringify(this.options.privateAttributes ?? {}),
      giveUpAfterSeconds: this.options.giveUpAfterSeconds,
      waitSeconds,
      attributes,
      needConsent: () => this.needConsent(),
    };
    const runner = new Runner(host, session);
    const stop = () => runner.stop();
    signal.addEventListener('abort', stop, { once: true });
    if (this.running !== null) {
      this.running.runner = runner;
    }
    try {
      await this.pace.untilAllowed(signal);
      return signal.aborted ? { cause: 'requested', detail: '' } : await runner.run();
    } catch (error) {
      if (error instanceof StoppedError) {
        return { cause: 'requested', detail: '' };
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      runner.free();
    }
  }

  /** Makes sure that there is a client id. Only one tab enrols at a time. */
  private async ensureEnrolled(signal: AbortSignal, traffic: Traffic): Promise<void> {
    const lock = `${databaseName(this.options.name ?? 'default')}.enrolment`;
    await navigator.locks.request(lock, { signal }, () => this.ensureEnrolledNow(signal, traffic));
  }

  private async ensureEnrolledNow(signal: AbortSignal, traffic: Traffic): Promise<void> {
    const { storage, transport, log, key, day } = this.parts;
    const known = await storage.get<{ coordinator: string; key: string; clientId: string }>('state', 'enrolment');
    if (known?.coordinator === transport.coordinator && known.key === key.publicKey) {
      transport.clientId = known.clientId;
      return;
    }
    const token = this.options.enrolmentToken;
    if (token === undefined) {
      throw new FolkmootError('not_enrolled', 'the client is not enrolled; give it an enrolment token');
    }
    const { client_id, population } = await transport.enrol(token, signal, traffic);
    const enrolment = { coordinator: transport.coordinator, key: key.publicKey, clientId: client_id };
    // This client must not add the compression residuals of another client.
    await storage.clear('memories');
    await storage.put('state', enrolment, 'enrolment');
    await day.save();
    const { sent, received } = traffic;
    await log.write({ action: 'enrolled', bytesSent: sent, bytesReceived: received, detail: population });
    this.emit({ name: 'enrolled', value: { clientId: client_id, population } });
  }

  /** Asks the app. If its function fails, the answer is no. */
  private mayTake(offer: AssignmentOffer): Promise<boolean> {
    return this.ask.before(offer).catch((error: unknown) => {
      console.warn('folkmoot: askBefore failed, so the assignment is declined', error);
      return false;
    });
  }

  /** Returns the number of examples available for training. If the app's own function fails, returns 0. */
  private async exampleCount(): Promise<number> {
    if (this.options.trainer === null) {
      return this.parts.examples.count();
    }
    return this.ask.exampleCount().catch((error: unknown) => {
      console.warn("folkmoot: the trainer's exampleCount failed, so the client reports 0 examples", error);
      return 0;
    });
  }

  /** Waits for examples, without which the client has nothing to offer. */
  private async untilExamples(signal: AbortSignal): Promise<void> {
    while ((await this.exampleCount()) === 0) {
      await sleep(500, signal);
    }
  }

  private conditionsChanged(reason: string | null): void {
    if (this.running !== null) {
      this.emit(reason === null ? { name: 'resumed', value: {} } : { name: 'paused', value: { reason } });
      this.running.runner?.conditionsChanged(reason);
    }
  }
}

/** Returns the code and the message for a failure. */
export function failureOf(error: unknown): [code: FolkmootError['code'], message: string] {
  if (error instanceof FolkmootError) {
    return [error.code, error.message];
  }
  if (error instanceof RequestError) {
    return ['refused', error.message];
  }
  return ['internal', error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error)];
}
