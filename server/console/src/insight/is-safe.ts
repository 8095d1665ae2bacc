import { count, number, percent } from '../format';
import type { Answer, Facts } from './facts';
import { versionsLeft } from './projection';

/** The share of the privacy budget from which on it is nearly spent. */
export const NEARLY_SPENT = 0.9;

/** Answers “Is it safe?” from the privacy statement, the protection of updates, and the coordinator's notes. */
export function safe({ task, statement }: Facts): Answer {
  const link = { to: `/privacy/tasks/${task.id}`, text: 'Privacy statement' };
  if (!statement) return { tone: 'calm', verdict: 'Loading', cause: 'The privacy statement is loading' };
  const isMasked = typeof task.description['protection'] === 'object' && task.description['protection'] !== null;
  const masks = isMasked ? 'The coordinator sees only sums of updates' : 'The coordinator can see each update';
  if (statement.is_seeded)
    return {
      tone: 'bad',
      verdict: 'Noise is not secret',
      cause: 'The noise comes from a known seed, so it protects nothing',
      remedy: 'Use a build without seeded noise for real data.',
      link,
    };
  const { epsilon_spent: spent, epsilon_budget: budget } = statement;
  if (!statement.is_private || typeof budget !== 'number') {
    return {
      tone: 'calm',
      verdict: isMasked ? 'Masked, no noise' : 'No promise',
      cause: `${masks}, and the versions carry no noise${notes(task.notes)}`,
      link,
    };
  }
  const share = (spent ?? 0) / budget;
  const cause = `${percent(share)} of the privacy budget is spent: epsilon ${number(spent ?? 0)} of ${number(budget)}`;
  if (share < NEARLY_SPENT || task.state !== 'active') return { tone: 'good', verdict: 'Within its budget', cause, link };
  const left = versionsLeft(statement);
  const end = left === undefined || left === Infinity ? '' : `, enough for about ${count(left)} more versions`;
  return {
    tone: 'warn',
    verdict: 'Budget nearly spent',
    cause: `${cause}${end}`,
    remedy: 'The task ends before it would exceed the budget. No action is needed to keep the promise.',
    link,
  };
}

function notes(notes: string[] | undefined): string {
  const length = notes?.length ?? 0;
  return length === 0 ? '' : `; ${count(length)} ${length === 1 ? 'note' : 'notes'} on possible attacks below`;
}
