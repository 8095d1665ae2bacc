/** Federated learning in a browser tab. Everything except this thin page side runs in a worker. */

import type { Answers, Call, Calls, ClientEvent, Question, ToPage, ToWorker, WorkerOptions } from './messages.js';
import { Conditions } from './page/conditions.js';
import { checkTrainer, OwnLoop } from './page/own_loop.js';
import { startWorker } from './page/start_worker.js';
import {
  type ClientEvents,
  type ConnectOptions,
  type Example,
  FolkmootError,
  type LogEntry,
  type ModelUpdate,
  type Policy,
  type Prediction,
} from './types.js';

export type { Evaluated, Tensor, Trained, Trainer, TrainerWork } from './page/trainer.js';
export * from './types.js';

/** The number of examples per message to the worker. */
const EXAMPLES_IN_A_MESSAGE = 512;
const GIVE_UP_AFTER_SECONDS = 30;

type Listener<Name extends keyof ClientEvents> = (value: ClientEvents[Name]) => void;
interface Waiting {
  resolve: (value: never) => void;
  reject: (error: FolkmootError) => void;
}

/** One client of one coordinator. */
export class Folkmoot {
  private readonly worker: Worker;
  private readonly conditions: Conditions;
  private readonly loop: OwnLoop | null;
  private readonly waiting = new Map<number, Waiting>();
  private readonly listeners = new Map<string, Set<(value: never) => void>>();
  private calls = 0;
  private ended: FolkmootError | null = null;

  /** The examples of this device, which never leave it. */
  readonly examples = {
    add: async (examples: Example | Example[]): Promise<void> => {
      const all = Array.isArray(examples) ? examples : [examples];
      for (let at = 0; at < all.length; at += EXAMPLES_IN_A_MESSAGE) {
        await this.call('addExamples', all.slice(at, at + EXAMPLES_IN_A_MESSAGE));
      }
    },
    count: (): Promise<number> => this.call('countExamples'),
    clear: (): Promise<void> => this.call('clearExamples'),
  };

  /** The user's consent, without which nothing starts. It is remembered until it is withdrawn. */
  readonly consent = {
    /** Call this when the user has agreed, with the text that the user saw. */
    give: (text: string): Promise<void> => this.call('giveConsent', text),
    /** Withdraws the consent and stops the client. */
    withdraw: (): Promise<void> => this.call('withdrawConsent'),
    isGiven: (): Promise<boolean> => this.call('hasConsent'),
  };

  private constructor(private readonly options: ConnectOptions) {
    this.worker = startWorker(options.workerUrl, (code, detail) => {
      if (this.ended === null) {
        this.end(new FolkmootError(code, detail));
        this.tell({ name: 'stopped', value: { reason: code, detail } });
      }
    });
    this.worker.onmessage = ({ data }: MessageEvent<ToPage>) => this.receive(data);
    this.conditions = new Conditions(options.policy ?? {}, (pause, cpuShare) => this.post({ kind: 'conditions', pause, cpuShare }));
    const { trainer } = options;
    this.loop = trainer === undefined ? null : new OwnLoop(trainer, (signal) => this.conditions.untilAllowed(signal));
  }

  /**
   * Opens a client: loads the worker and its database. Sends nothing until {@link Folkmoot.start} or
   * {@link Folkmoot.updateModel} is called.
   */
  static async connect(options: ConnectOptions): Promise<Folkmoot> {
    if (!('locks' in navigator) || !('indexedDB' in globalThis) || !globalThis.isSecureContext) {
      const detail = 'HTTPS, IndexedDB or Web Locks are missing; serve the page over HTTPS, and use a newer browser';
      throw new FolkmootError('unsupported_browser', detail);
    }
    const { askBefore, policy, trainer, workerUrl: _, ...others } = options;
    if (trainer !== undefined) {
      checkTrainer(trainer);
    }
    const client = new Folkmoot(options);
    const sent: WorkerOptions = {
      ...others,
      asksBefore: askBefore !== undefined,
      giveUpAfterSeconds: policy?.giveUpAfterSeconds ?? GIVE_UP_AFTER_SECONDS,
      trainer: trainer === undefined ? null : { evaluates: trainer.evaluate !== undefined },
    };
    try {
      await client.call('connect', sent);
    } catch (error) {
      client.end(new FolkmootError('forgotten', 'this client could not be opened'));
      throw error;
    }
    return client;
  }

  /** Calls `listener` for each event of this name. Returns a function that removes the listener. */
  on<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(listener as (value: never) => void));
    return () => listeners.delete(listener as (value: never) => void);
  }

  /** Starts to take part in rounds. Only one tab of a client does so at a time; other tabs wait for their turn. */
  start(): Promise<void> {
    return this.call('start');
  }

  /** Stops taking part in rounds and gives up the current assignment. */
  stop(): Promise<void> {
    return this.call('stop');
  }

  /** Pauses training for a reason of the page's own, within 100 ms or after the current step. */
  pause(reason = 'page'): void {
    this.conditions.setPagesReason(reason);
  }

  resume(): void {
    this.conditions.setPagesReason(null);
  }

  /** Replaces the policy, except `giveUpAfterSeconds`, which keeps its value. */
  setPolicy(policy: Policy): void {
    this.conditions.setPolicy(policy);
  }

  /**
   * Fetches the model that the operator has rolled out to this device, and tries it. From then on, `predict` uses it, also
   * without a connection and after a reload. Returns null if no model is rolled out to this device; `predict` then uses the
   * model of the last assignment.
   *
   * Call it when the page opens and, for example, once a day. The client enrols first if necessary. It needs neither examples
   * nor consent, because it sends nothing about the user. Fails with `model_unusable` if the model does not work here;
   * predictions then keep the model before.
   */
  updateModel(): Promise<ModelUpdate | null> {
    return this.call('updateModel');
  }

  /**
   * Returns a model's outputs for one or more rows of features: those of the model that `updateModel` has brought, or else
   * of the newest one that the client has trained.
   */
  predict(features: Float32Array | number[]): Promise<Prediction> {
    return this.call('predict', Float32Array.from(features));
  }

  /** Returns what was requested, trained and sent, the oldest entry first. The log never leaves the device. */
  log(): Promise<LogEntry[]> {
    return this.call('readLog');
  }

  /** Stops the client and deletes its key, examples, state and log. It cannot be used afterwards. */
  async forget(): Promise<void> {
    await this.call('forget');
    this.end(new FolkmootError('forgotten', 'this client was forgotten'));
  }

  /**
   * Closes the worker without notifying the coordinator, like a closed tab. The next `connect` continues from there.
   */
  close(): void {
    this.end(new FolkmootError('forgotten', 'this client was closed'));
  }

  /** Makes the graphics adapter fail, for tests. */
  loseDevice(): void {
    this.post({ kind: 'lose_device' });
  }

  private call<Name extends keyof Calls, Value>(name: Name, ...given: Calls[Name]): Promise<Value> {
    if (this.ended !== null) {
      return Promise.reject(this.ended);
    }
    const id = (this.calls += 1);
    return new Promise<Value>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      this.post({ kind: 'call', id, call: { name, arguments: given } as unknown as Call });
    });
  }

  private post(message: ToWorker, transfer: Transferable[] = []): void {
    this.worker.postMessage(message, transfer);
  }

  private receive(message: ToPage): void {
    switch (message.kind) {
      case 'answer':
        this.waiting.get(message.id)?.resolve(message.value as never);
        this.waiting.delete(message.id);
        break;
      case 'failure':
        this.waiting.get(message.id)?.reject(new FolkmootError(message.code, message.message));
        this.waiting.delete(message.id);
        break;
      case 'event':
        this.tell(message.event);
        break;
      case 'ask':
        void this.answerQuestion(message.id, message.question);
        break;
      case 'tell_loop':
        this.loop?.tell(message.id, message.word);
        break;
    }
  }

  private tell(event: ClientEvent): void {
    this.listeners.get(event.name)?.forEach((listener) => listener(event.value as never));
  }

  /** Asks the app. The text of an error stays on this device, because it may contain the user's data. */
  private async answerQuestion(id: number, question: Question): Promise<void> {
    try {
      const answer = await this.answerOf(id, question);
      const weights = typeof answer === 'object' ? answer?.weights : undefined;
      this.post({ kind: 'answered', id, answer }, weights === undefined ? [] : [weights.buffer]);
    } catch (error) {
      this.post({ kind: 'failed', id, message: String(error) });
    }
  }

  private async answerOf(id: number, { name, about }: Question): Promise<Answers[Question['name']]> {
    if (name === 'askBefore') {
      // If the app's function fails, the worker treats that as a no.
      return (await this.options.askBefore?.(about)) === true;
    }
    if (this.loop === null) {
      throw new Error('the app has no training loop of its own');
    }
    return name === 'exampleCount' ? this.loop.exampleCount() : this.loop[name](id, about);
  }

  private end(reason: FolkmootError): void {
    this.ended ??= reason;
    this.conditions.end();
    this.loop?.end();
    this.worker.terminate();
    this.waiting.forEach(({ reject }) => reject(reason));
    this.waiting.clear();
  }
}
