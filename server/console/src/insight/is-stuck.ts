import { isOver, type Round, type RoundFunnel } from '../api/types';
import { count, duration, words } from '../format';
import type { Answer, Facts } from './facts';
import { pace } from './projection';

/** A task is stuck after this many abandoned rounds in a row. */
const STREAK = 3;
/** A round is slow if it takes this many times the usual time. */
const SLOW = 5;
/** Rounds with these reasons say nothing about clients. */
const INTENDED = new Set(['task_paused', 'task_cancelled', 'task_completed', 'rolled_back']);

const STOPPED: Record<string, string> = {
  rounds: 'It committed all the rounds that it was to have',
  target: 'Its metric reached the target',
  plateau: 'Its metric stopped improving',
  time: 'Its time limit was reached',
  privacy_budget: 'One more version would have exceeded its privacy budget',
};

const REMEDIES: Record<string, string> = {
  too_few_clients: 'Enrol more clients, or create the task again with a smaller report goal or a longer selection deadline.',
  too_few_reports: 'Clients drop out or are too slow. The round says why; a longer reporting deadline gives them more time.',
  commit_failed: 'The log under System names the cause.',
  selection_failed: 'The log under System names the cause.',
  privacy_budget: 'Look at the privacy ledger: the budget of the population was changed or is spent.',
};

/** Answers “Is it stuck?” from the task's state, its last rounds, and what its open round waits for. */
export function stuck(facts: Facts): Answer {
  const { task } = facts;
  const after = `after ${count(task.rounds_committed)} ${task.rounds_committed === 1 ? 'round' : 'rounds'}`;
  switch (task.state) {
    case 'draft':
      return { tone: 'calm', verdict: 'Draft', cause: 'No client gets this task yet', remedy: 'Start it when you are ready.' };
    case 'paused':
      if (task.pause)
        return { tone: 'bad', verdict: 'Paused by the coordinator', cause: trimmed(task.pause.reason), remedy: task.pause.remedy };
      return { tone: 'calm', verdict: 'Paused', cause: `An operator paused it ${after}`, remedy: 'Resume it to open the next round.' };
    case 'completed':
      return { tone: 'good', verdict: 'Finished', cause: `${STOPPED[String(task.stop_reason)] ?? 'It ended'}, ${after}` };
    case 'cancelled':
      return { tone: 'calm', verdict: 'Cancelled', cause: `It was cancelled ${after}; its versions stay` };
    default:
      return running(facts);
  }
}

function running(facts: Facts): Answer {
  const streak = abandoned(facts.rounds ?? []);
  const [latest] = streak;
  if (latest && streak.length >= STREAK) {
    const most = Number(facts.task.description['abandoned_rounds_max'] ?? 20);
    return {
      tone: 'bad',
      verdict: 'Stuck',
      cause: `The last ${count(streak.length)} rounds were abandoned: ${words(String(latest.reason))}. After ${count(most)} in a row the coordinator pauses the task`,
      remedy: REMEDIES[String(latest.reason)],
      link: { to: `/rounds/${latest.id}`, text: `Round ${latest.number}` },
    };
  }
  const { funnel } = facts;
  if (funnel?.round.phase === 'selecting') return selecting(facts, funnel, latest);
  if (funnel && !isOver(funnel.round)) return working(facts, funnel);
  const rhythm = facts.series && pace(facts.series.points);
  return rhythm
    ? { tone: 'good', verdict: 'Running', cause: `A round takes about ${duration(rhythm.each)}` }
    : { tone: 'calm', verdict: 'Starting', cause: 'No round is open right now' };
}

/** The newest rounds that were abandoned one after the other, newest first. */
function abandoned(rounds: Round[]): Round[] {
  const ended = rounds.filter(isOver);
  const end = ended.findIndex((round) => round.phase !== 'abandoned' || INTENDED.has(String(round.reason)));
  return end === -1 ? ended : ended.slice(0, end);
}

function selecting({ population }: Facts, funnel: RoundFunnel, last: Round | undefined): Answer {
  const { needed, until, needed_then: then } = funnel.awaited ?? {};
  const waiting = population?.waiting;
  const deadline = typeof until === 'number' ? { until, thereafter: after(needed, then) } : {};
  const before = last ? ` The round before was abandoned: ${words(String(last.reason))}.` : '';
  if (typeof needed !== 'number' || typeof waiting !== 'number')
    return { tone: 'calm', verdict: 'Waiting', cause: 'The round waits for clients', ...deadline };
  if (waiting >= needed)
    return { tone: 'good', verdict: 'Starting', cause: `${count(waiting)} clients are waiting, and a round needs ${count(needed)}` };
  const cause = `Waits for ${count(needed - waiting)} of ${clients(needed)}`;
  const enrolled = population?.enrolled ?? 0;
  const tone = last || enrolled < (then ?? needed) ? 'warn' : 'calm';
  if (enrolled < needed)
    return {
      tone,
      verdict: 'Waiting',
      cause,
      ...deadline,
      remedy: `${enrolled === 0 ? 'No client is' : `Only ${clients(enrolled)} ${enrolled === 1 ? 'is' : 'are'}`} enrolled. Hand out an enrolment token.${before}`,
      link: { to: '/access', text: 'Create a token' },
    };
  return {
    tone,
    verdict: 'Waiting',
    cause,
    ...deadline,
    remedy: `${clients(enrolled)} are enrolled; those that are not waiting are busy, offline or not eligible.${before}`,
    link: { to: `/clients/${population?.name}`, text: 'See the clients' },
  };
}

/** Returns a text about the number that is enough from the deadline on; empty if it is not smaller than before. */
function after(needed: number | null | undefined, then: number | null | undefined): string {
  if (typeof needed !== 'number' || typeof then !== 'number' || then >= needed) return '';
  return `; from then on ${count(then)} are enough`;
}

function clients(number: number): string {
  return `${count(number)} ${number === 1 ? 'client' : 'clients'}`;
}

function working({ series, now }: Facts, funnel: RoundFunnel): Answer {
  const { round, accepted, awaited } = funnel;
  const { needed, until } = awaited ?? {};
  const deadline = typeof until === 'number' ? { until } : {};
  const rhythm = series && pace(series.points);
  const link = { to: `/rounds/${round.id}`, text: `Round ${round.number}` };
  const counted = typeof needed === 'number' && typeof accepted === 'number';
  const cause = counted
    ? `Round ${count(round.number)} has ${count(accepted)} of ${count(needed)} updates`
    : `Round ${count(round.number)} is ${words(round.phase)}`;
  const age = now - round.created_at;
  if (rhythm && rhythm.each > 0 && age > SLOW * rhythm.each && age > 10_000)
    return {
      tone: 'warn',
      verdict: 'Slow',
      cause: `${cause} after ${duration(age)}; a round usually takes ${duration(rhythm.each)}`,
      ...deadline,
      remedy: 'Its timeline shows which assignments are still outstanding.',
      link,
    };
  const usual = rhythm ? `; a round takes about ${duration(rhythm.each)}` : '';
  return { tone: 'good', verdict: 'Running', cause: `${cause}${usual}`, link };
}

/** A sentence without its full stop. */
function trimmed(sentence: string): string {
  return sentence.replace(/\.\s*$/, '');
}
