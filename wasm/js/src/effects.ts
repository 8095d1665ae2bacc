/** The session's effects, as the engine writes them, and the parts of the worker that perform them. */

import type { Artifact, Blobs } from './blobs.js';
import type { Endorsements } from './endorsements.js';
import type { ClientKey } from './key.js';
import type { DayBytes } from './limits.js';
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
  control_variate?: Artifact;
  /** True if the update must be masked. The small modules leave this out. */
  is_masked?: boolean;
  cohort_min?: number;
  protection_level?: string;
  /** The operator's signed statement about the task, as JSON. */
  endorsement?: string;
}

/** The newest model, which the page uses for predictions. */
export type Newest = Pick<Assignment, 'plan' | 'model' | 'weights' | 'weights_parts'> & {
  /** Earlier versions of this package did not store it. */
  task_id?: string;
};

/** A model version that the operator has rolled out to this device. */
export interface Rollout {
  number: number;
  task_id: string;
  version: number;
  plan: Artifact;
  model: Artifact;
  weights: Artifact;
  /** The operator's signed statement about the task, as JSON. */
  endorsement?: string;
}

/** Returns the blobs to fetch after the model: the weights or the parts that replace them, then the control variate. */
export function weightsOf(from: Pick<Assignment, 'weights' | 'weights_parts' | 'control_variate'>): Artifact[] {
  const weights = from.weights_parts?.length ? from.weights_parts : [from.weights];
  return from.control_variate === undefined ? weights : [...weights, from.control_variate];
}

/** The functions of the worker that a session needs, in addition to those that its work needs. */
export interface RunnerHost extends WorkHost {
  blobs: Blobs;
  key: ClientKey;
  transport: Transport;
  log: Log;
  day: DayBytes;
  endorsements: Endorsements;
  waitSeconds: number;
  giveUpAfterSeconds: number;
  attributes: Record<string, string>;
  /** Returns the number of examples available for training. */
  exampleCount: () => Promise<number>;
  /** Throws an error if the user has withdrawn consent. */
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
  step: string;
  request: unknown;
  wait_seconds: number;
  offset: number;
  length: number;
  digest: string;
  was_accepted: boolean | null;
  report: unknown;
  abort: unknown;
}

/** Each kind of effect has only some of these values. */
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
        | 'exchange'
        | 'prepare'
        | 'query_upload'
        | 'upload'
        | 'send_report'
        | 'send_abort';
      value: EffectValue;
    };
export type Values = EffectValue;

/** Returns the answer to the session for an error; the engine writes it as JSON. Null if the session need not know. */
export function answerOf(error: unknown): Answer | null {
  if (error instanceof AnswerError) {
    return error.answer;
  }
  const message = error instanceof Error ? error.message : '';
  return message.startsWith('{"work_failed"') ? (JSON.parse(message) as Answer) : null;
}

/** Returns whether an error means that this device declines an assignment. */
export function isDeclined(error: unknown): boolean {
  const answer = answerOf(error);
  const failed = answer !== null && typeof answer === 'object' ? answer['work_failed'] : null;
  return (failed as { reason?: unknown } | null | undefined)?.reason === 'declined';
}

/** An error that carries an answer to the session. */
export class AnswerError extends Error {
  constructor(readonly answer: Answer) {
    super('an answer of another kind');
  }
}
