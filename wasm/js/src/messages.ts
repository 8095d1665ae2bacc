/** The messages between page and worker. */

import type { AssignmentOffer, ClientEvents, ConnectOptions, ErrorCode, Example } from './types.js';

/** The options that can be sent to the worker. Functions stay in the page. */
export type WorkerOptions = Omit<ConnectOptions, 'askBefore' | 'policy' | 'workerUrl'> & {
  asksBefore: boolean;
  giveUpAfterSeconds: number;
};

/** The page's calls, by name, with their arguments and results. */
export interface Calls {
  connect: [options: WorkerOptions];
  addExamples: [examples: Example[]];
  countExamples: [];
  clearExamples: [];
  start: [];
  stop: [];
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
  | { kind: 'asked'; id: number; agreed: boolean }
  | { kind: 'lose_device' };

/** A message to the page. */
export type ToPage =
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failure'; id: number; code: ErrorCode; message: string }
  | { kind: 'event'; event: ClientEvent }
  | { kind: 'ask'; id: number; assignment: AssignmentOffer };

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
