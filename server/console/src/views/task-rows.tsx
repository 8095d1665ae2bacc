/** The rows of the task list, and the order that the user chose. */

import { useEffect } from 'preact/hooks';

import { get } from '../api/client';
import { queued } from '../api/queue';
import type { Series, TaskSummary } from '../api/types';
import { Sparkline } from '../charts/sparkline';
import { Ago, Link, State } from '../components';
import { Icon } from '../components/icons';
import { count, measure } from '../format';
import { headline, measuredOn, metricName } from '../insight/learning';
import { IDLE_MILLISECONDS, MANY_MILLISECONDS } from '../insight/use-facts';
import { NEVER, useData, useEvery } from '../live';
import { useDensity, useNarrow } from '../theme';

/** The maximum number of tasks that can be compared. */
export const COMPARED_MAX = 6;
/** The number of versions in the small curve of a row. */
const POINTS = 40;

export type SortKey = 'name' | 'state' | 'rounds' | 'population' | 'created';
export interface Order {
  by: SortKey;
  isDown: boolean;
}

/** The order of a list that nobody sorted: the coordinator's own, newest first. */
export const NEWEST: Order = { by: 'created', isDown: true };

const VALUES: Record<SortKey, (task: TaskSummary) => string | number> = {
  name: (task) => task.name.toLowerCase(),
  state: (task) => task.state,
  rounds: (task) => task.rounds_committed,
  population: (task) => task.population,
  created: (task) => task.created_at,
};

export const KEYS = Object.keys(VALUES) as SortKey[];

/** The order in which a key is sorted first: numbers and times from the largest, words from the beginning. */
export function orderBy(by: SortKey): Order {
  return { by, isDown: by === 'created' || by === 'rounds' };
}

export function isKey(name: string): name is SortKey {
  return Object.hasOwn(VALUES, name);
}

/** The height of a row in pixels. On a narrow screen, a row has three lines; the style sheet agrees. */
export function useRowHeight(): number {
  const isCompact = useDensity() === 'compact';
  return useNarrow() ? 88 : isCompact ? 36 : 46;
}

export function sorted(tasks: TaskSummary[], { by, isDown }: Order): TaskSummary[] {
  const value = VALUES[by];
  const sign = isDown ? -1 : 1;
  const compare = (a: TaskSummary, b: TaskSummary) => {
    const [one, other] = [value(a), value(b)];
    return sign * (one < other ? -1 : one > other ? 1 : 0);
  };
  return [...tasks].sort(compare);
}

/** `key` is missing for columns that the list cannot be sorted by. */
const COLUMNS: { name: string; key?: SortKey }[] = [
  { name: 'Compare' },
  { name: 'Name', key: 'name' },
  { name: 'State', key: 'state' },
  { name: 'Metric' },
  { name: 'Curve' },
  { name: 'Rounds', key: 'rounds' },
  { name: 'Population', key: 'population' },
  { name: 'Created', key: 'created' },
];

export function Head({ order, sort }: { order: Order; sort: (order: Order) => void }) {
  return (
    <div class="row tasks-row" role="row">
      {COLUMNS.map(({ name, key }) => {
        if (!key)
          return (
            <span key={name} role="columnheader">
              {name}
            </span>
          );
        const isOwn = order.by === key;
        return (
          <span key={name} role="columnheader" aria-sort={isOwn ? (order.isDown ? 'descending' : 'ascending') : 'none'}>
            <button type="button" class="sort" onClick={() => sort(isOwn ? { by: key, isDown: !order.isDown } : orderBy(key))}>
              {name}
              {isOwn && <Icon name={order.isDown ? 'down' : 'up'} />}
            </button>
          </span>
        );
      })}
    </div>
  );
}

type RowProps = {
  task: TaskSummary;
  index: number;
  isChosen: boolean;
  choose: (id: string) => void;
  near: (() => Promise<void>) | undefined;
};

export function Row({ task, index, isChosen, choose, near }: RowProps) {
  useEffect(() => void near?.(), [near === undefined]);
  const path = `/tasks/${task.id}/series?points=${POINTS}`;
  const data = useData(path, (signal) => queued(() => get<Series>(path, signal), signal), NEVER);
  useEvery(task.state === 'active' ? MANY_MILLISECONDS : IDLE_MILLISECONDS, data);
  const curve = data.data && headline(data.data);
  const last = curve?.points.at(-1);
  const what = curve ? `${metricName(curve.metric)} ${measuredOn(curve.source)}` : '';
  const rounds = task.rounds_wanted ? `${count(task.rounds_committed)} of ${count(task.rounds_wanted)}` : count(task.rounds_committed);
  return (
    <div class="row tasks-row" role="row" aria-rowindex={index + 2}>
      <span role="cell">
        <input type="checkbox" checked={isChosen} aria-label={`Compare ${task.name}`} onChange={() => choose(task.id)} />
      </span>
      <span role="cell">
        <Link to={`/tasks/${task.id}`}>{task.name}</Link>
      </span>
      <span role="cell">
        <State state={task.state} />
      </span>
      <span role="cell" title={what}>
        {curve && last ? (
          <>
            <b>{measure(curve.metric, last.value)}</b> <small>{metricName(curve.metric)}</small>
          </>
        ) : (
          <small>{data.data ? 'none yet' : '…'}</small>
        )}
      </span>
      <span role="cell">{curve && <Sparkline values={curve.points.map((point) => point.value)} label={`Curve of ${what}`} />}</span>
      <span role="cell">{rounds}</span>
      <span role="cell">{task.population}</span>
      <span role="cell">
        <Ago at={task.created_at} />
      </span>
    </div>
  );
}
