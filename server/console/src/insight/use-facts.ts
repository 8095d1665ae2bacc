/** Loads everything that the answers about a task rest on, and reloads it when the task changes. */

import { get } from '../api/client';
import type { Overview, Round, RoundFunnel, Series, Statement, Task } from '../api/types';
import { CLIENTS_MILLISECONDS, type Data, NEVER, useData, useEvery } from '../live';
import type { Facts } from './facts';

/** The number of newest rounds that show whether rounds are abandoned. */
const ROUNDS = 10;

export interface Loaded {
  facts: Omit<Facts, 'now'>;
  series: Data<Series>;
  funnel: Data<RoundFunnel | undefined>;
  statement: Data<Statement>;
}

/** Loads the facts about `task`, with `points` versions of its history. The page loads `overview` once for all tasks. */
export function useFacts(task: Task, overview: Overview | undefined, points: number): Loaded {
  const { id } = task;
  const open = task.open_round?.round.id;
  const series = useData(`series ${id}`, (signal) => get<Series>(`/tasks/${id}/series?points=${points}`, signal), id);
  const rounds = useData(`rounds ${id}`, (signal) => get<Round[]>(`/tasks/${id}/rounds?limit=${ROUNDS}`, signal), id);
  const statement = useData(`statement ${id}`, (signal) => get<Statement>(`/tasks/${id}/privacy`, signal), id);
  const funnel = useData<RoundFunnel | undefined>(
    `funnel ${open}`,
    async (signal) => (open ? get<RoundFunnel>(`/rounds/${open}`, signal) : undefined),
    open ? id : NEVER,
  );
  const population = overview?.populations.find((one) => one.name === task.description['population']);
  const facts = { task, series: series.data, rounds: rounds.data, statement: statement.data, funnel: funnel.data, population };
  return { facts, series, funnel, statement };
}

/** Loads the overview, and counts the waiting clients again from time to time. */
export function useOverview(): Data<Overview> {
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal));
  useEvery(CLIENTS_MILLISECONDS, overview);
  return overview;
}
