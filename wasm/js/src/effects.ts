/** What the session asks for, as the engine writes it, and what a worker needs to do it. */

import type { Artifact, Blobs } from './blobs.js';
import type { DayBytes } from './day_bytes.js';
import type { Log } from './log.js';
import type { Transport } from './transport.js';
import type { AssignmentOffer } from './types.js';
import type { WorkHost } from './work.js';

export interface Assignment {
  assignment_id: string;
  task_id: string;
  round_number: number;
  base_version: number;
  plan: Artifact;
  model: Artifact;
  weights: Artifact;
  weights_parts?: Artifact[];
}

/** The model that came last, with which the page predicts. */
export type Newest = Pick<Assignment, 'plan' | 'model' | 'weights' | 'weights_parts'>;

/** The blobs of the weights that are fetched: the parts where there are some. */
export function weightsOf(from: Pick<Assignment, 'weights' | 'weights_parts'>): Artifact[] {
  return from.weights_parts?.length ? from.weights_parts : [from.weights];
}

/** What a session needs of the worker, beside what work needs. */
export interface RunnerHost extends WorkHost {
  blobs: Blobs;
  transport: Transport;
  log: Log;
  day: DayBytes;
  waitSeconds: number;
  giveUpAfterSeconds: number;
  attributes: Record<string, string>;
  /** Throws if the user does not agree any more. */
  needConsent: () => Promise<void>;
  ask: ((assignment: AssignmentOffer) => Promise<boolean>) | null;
}

export type Answer = 'trained' | 'update_lost' | Record<string, unknown>;
interface EffectValue {
  request_id: number;
  assignment_id: string;
  assignment: Assignment;
  artifact: Artifact;
  kind: string;
  request: unknown;
  wait_seconds: number;
  offset: number;
  length: number;
  digest: string;
  was_accepted: boolean | null;
  report: unknown;
  abort: unknown;
}

/** An effect has those of the values that its kind needs. */
export type Effect =
  | { effect: 'wake_at'; value: number }
  | {
      effect:
        | 'persist'
        | 'cancel'
        | 'forget'
        | 'prefetch'
        | 'check_in'
        | 'fetch'
        | 'train'
        | 'listen'
        | 'finish_early'
        | 'prepare'
        | 'query_upload'
        | 'upload'
        | 'send_report'
        | 'send_abort';
      value: EffectValue;
    };
export type Values = EffectValue;

/** What the session is to hear of an error: the engine says so as JSON. Null where it is none of its business. */
export function answerOf(error: unknown): Answer | null {
  if (error instanceof AnswerError) {
    return error.answer;
  }
  const message = error instanceof Error ? error.message : '';
  return message.startsWith('{"work_failed"') ? (JSON.parse(message) as Answer) : null;
}

/** Whether an error says that this device does not agree to an assignment. */
export function isDeclined(error: unknown): boolean {
  const answer = answerOf(error);
  const failed = answer !== null && typeof answer === 'object' ? answer['work_failed'] : null;
  return (failed as { reason?: unknown } | null | undefined)?.reason === 'declined';
}

/** An answer to the session that is none of the expected kind. */
export class AnswerError extends Error {
  constructor(readonly answer: Answer) {
    super('an answer of another kind');
  }
}
