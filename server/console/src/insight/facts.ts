/** The facts about a task that the answers to an operator's questions rest on, and the form of an answer. */

import type { Overview, Round, RoundFunnel, Series, Statement, Task } from '../api/types';

/** `calm` is neither good nor bad: nothing to do, or not known yet. */
export type Tone = 'good' | 'calm' | 'warn' | 'bad';

export interface Answer {
  tone: Tone;
  /** One to three words, for example `Learning`. */
  verdict: string;
  /** A sentence without its full stop, so that `until` can follow. */
  cause: string;
  /** The time until which the cause holds at most, in milliseconds since 1970. */
  until?: number | undefined;
  /** The rest of the sentence, after the deadline. */
  thereafter?: string | undefined;
  /** A sentence that says what to do. */
  remedy?: string | undefined;
  link?: { to: string; text: string } | undefined;
}

/** The API's answers about a task. Parts that have not arrived yet are undefined. */
export interface Facts {
  task: Task;
  series?: Series | undefined;
  /** The open round, with its counts. */
  funnel?: RoundFunnel | undefined;
  /** The newest rounds, newest first. */
  rounds?: Round[] | undefined;
  statement?: Statement | undefined;
  population?: Overview['populations'][number] | undefined;
  now: number;
}
