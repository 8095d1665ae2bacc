/**
 * Answers an operator's three questions about a task: is it learning, is it stuck, is it safe? Each answer is a sentence
 * with its cause and a remedy. These are pure functions of the API's answers and the time.
 */

import type { Answer, Facts } from './facts';
import { learning } from './is-learning';
import { safe } from './is-safe';
import { stuck } from './is-stuck';

export interface Standing {
  /** The answer that matters most right now. */
  line: Answer;
  learning: Answer;
  stuck: Answer;
  safe: Answer;
}

/** Answers the three questions, and chooses the answer for the status line: trouble first, then waiting, then learning. */
export function standing(facts: Facts): Standing {
  const answers = { learning: learning(facts), stuck: stuck(facts), safe: safe(facts) };
  const byUrgency = [answers.stuck, answers.safe, answers.learning];
  const isRunning = facts.task.state === 'active';
  const trouble = byUrgency.find((one) => one.tone === 'bad') ?? byUrgency.find((one) => one.tone === 'warn');
  const calm = answers.stuck.tone === 'calm' ? answers.stuck : answers.learning;
  return { line: isRunning ? (trouble ?? calm) : answers.stuck, ...answers };
}
