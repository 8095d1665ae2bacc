/** Loads everything that the answers about a task rest on, and reloads it when the task changes. */

import { useEffect, useRef } from 'preact/hooks';

import { get } from '../api/client';
import type { Overview, Round, RoundFunnel, Series, Statement, Task } from '../api/types';
import { CLIENTS_MILLISECONDS, type Data, NEVER, useData, useEvery } from '../live';
import type { Facts } from './facts';

/** The number of newest rounds that show whether rounds are abandoned. */
const ROUNDS = 10;
/** The interval at which the facts about one of many tasks are loaded again. */
export const MANY_MILLISECONDS = 5_000;
/** The same for a task that does not run, whose facts hardly change, and for long lists of tasks. */
export const IDLE_MILLISECONDS = 60_000;

export interface Loaded {
  facts: Omit<Facts, 'now'>;
  series: Data<Series>;
  funnel: Data<RoundFunnel | undefined>;
  statement: Data<Statement>;
}

/**
 * Loads the facts about `task`, with `points` versions of its history. The page loads `overview` once for all tasks. On a
 * page with many tasks, `isOneOfMany` reloads the facts every few seconds instead of after each change.
 */
export function useFacts(task: Task, overview: Overview | undefined, points: number, isOneOfMany = false): Loaded {
  const { id } = task;
  const open = task.open_round?.round.id;
  const changes = isOneOfMany ? NEVER : id;
  const series = useData(`series ${id}`, (signal) => get<Series>(`/tasks/${id}/series?points=${points}`, signal), changes);
  const rounds = useData(`rounds ${id}`, (signal) => get<Round[]>(`/tasks/${id}/rounds?limit=${ROUNDS}`, signal), changes);
  const statement = useData(`statement ${id}`, (signal) => get<Statement>(`/tasks/${id}/privacy`, signal), changes);
  // The funnel of the last round stays until that of the next one has arrived, so that the page does not flicker.
  const funnel = useData<RoundFunnel | undefined>(
    `open round of ${id}`,
    async (signal) => (open ? get<RoundFunnel>(`/rounds/${open}`, signal) : undefined),
    changes,
  );
  const all = [series, rounds, statement, funnel];
  // The funnel is loaded again when another round opens. `useData` itself loads the funnel of the first round.
  const asked = useRef(open);
  useEffect(() => {
    if (isOneOfMany || asked.current === open) return;
    asked.current = open;
    funnel.again();
  }, [open]);
  useEvery(isOneOfMany && task.state === 'active' ? MANY_MILLISECONDS : IDLE_MILLISECONDS, {
    again: () => all.forEach((one) => one.again()),
  });
  const population = overview?.populations.find((one) => one.name === task.description['population']);
  const facts = { task, series: series.data, rounds: rounds.data, statement: statement.data, funnel: funnel.data, population };
  return { facts, series, funnel, statement };
}

/**
 * Loads the overview, and counts the waiting clients again from time to time. `task` is the only task whose changes
 * matter: all tasks if omitted.
 */
export function useOverview(task?: string): Data<Overview> {
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal), task);
  useEvery(CLIENTS_MILLISECONDS, overview);
  return overview;
}
