/** The messages between page and worker. */

import type { LoopInput, LoopResult } from './page/trainer.js';
import type { AssignmentOffer, ClientEvents, CommonOptions, ErrorCode, Example, ExampleFormat } from './types.js';

/** The options that can be sent to the worker. Functions stay in the page. */
export type WorkerOptions = Omit<CommonOptions, 'askBefore' | 'policy' | 'workerUrl'> & {
  asksBefore: boolean;
  examples?: ExampleFormat;
  giveUpAfterSeconds: number;
  /** Whether the app has its own loop, and whether that evaluates. */
  trainer: { evaluates: boolean } | null;
};

/** The page's calls, by name, with their arguments and results. */
export interface Calls {
  connect: [options: WorkerOptions];
  addExamples: [examples: Example[]];
  countExamples: [];
  clearExamples: [];
  start: [];
  stop: [];
  updateModel: [];
  predict: [features: Float32Array];
  giveConsent: [text: string];
  withdrawConsent: [];
  hasConsent: [];
  readLog: [];
  forget: [];
}

export type Call = { [Name in keyof Calls]: { name: Name; arguments: Calls[Name] } }[keyof Calls];

/** A message to the worker. */
export type ToWorker =
  | { kind: 'call'; id: number; call: Call }
  | { kind: 'conditions'; pause: string | null; cpuShare: number }
  | { kind: 'answered'; id: number; answer: unknown }
  | { kind: 'failed'; id: number; message: string }
  | { kind: 'lose_device' };

/** A message to the page. */
export type ToPage =
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failure'; id: number; code: ErrorCode; message: string }
  | { kind: 'event'; event: ClientEvent }
  | { kind: 'ask'; id: number; question: Question }
  | { kind: 'tell_loop'; id: number; word: 'finish' | 'stop' };

/** The worker's questions to the page, by name, with what they contain. */
export interface Questions {
  askBefore: AssignmentOffer;
  exampleCount: null;
  train: LoopInput;
  evaluate: LoopInput;
}

/** The answers to the worker's questions. */
export interface Answers {
  askBefore: boolean;
  exampleCount: number;
  train: LoopResult | null;
  evaluate: LoopResult | null;
}

export type Question = { [Name in keyof Questions]: { name: Name; about: Questions[Name] } }[keyof Questions];

export type ClientEvent = {
  [Name in keyof ClientEvents]: { name: Name; value: ClientEvents[Name] };
}[keyof ClientEvents];

/** Converts a name of the engine, in snake_case, to one of this package. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts the names of all fields of a JSON value. Strings stay as they are. */
export function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(camelCased);
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, value]) => [camelCase(name), camelCased(value)]))
    : value;
}
