/** What page and worker say to each other. */

import type { AssignmentOffer, ClientEvents, ConnectOptions, ErrorCode, Example } from './types.js';

/** The options that can be sent: functions stay in the page. */
export type WorkerOptions = Omit<ConnectOptions, 'askBefore' | 'policy'> & {
  asksBefore: boolean;
  giveUpAfterSeconds: number;
};

/** What the page calls, by name, with its arguments and its answer. */
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

/** To the worker. */
export type ToWorker =
  | { kind: 'call'; id: number; call: Call }
  | { kind: 'conditions'; pause: string | null; cpuShare: number }
  | { kind: 'asked'; id: number; agreed: boolean }
  | { kind: 'lose_device' };

/** To the page. */
export type ToPage =
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'failure'; id: number; code: ErrorCode; message: string }
  | { kind: 'event'; event: ClientEvent }
  | { kind: 'ask'; id: number; assignment: AssignmentOffer };

export type ClientEvent = {
  [Name in keyof ClientEvents]: { name: Name; value: ClientEvents[Name] };
}[keyof ClientEvents];
