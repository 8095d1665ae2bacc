import { useEffect, useRef, useState } from 'preact/hooks';

import { get } from '../api/client';
import type { Overview, TaskSummary } from '../api/types';
import { Button, Empty, ErrorNote, Link, LongList, Page } from '../components';
import { count } from '../format';
import { useData } from '../live';
import { go } from '../router';
import { may } from '../session';
import { useNarrow } from '../theme';
import { COMPARED_MAX, Head, isKey, KEYS, NEWEST, type Order, orderBy, Row, type SortKey, sorted, useRowHeight } from './task-rows';

const STATES = ['active', 'paused', 'draft', 'completed', 'cancelled'];
const PAGE = 100;
/** The maximum number of tasks that are loaded to sort them. */
const SORTED_MAX = 1_000;

interface Filter {
  state: string;
  population: string;
  name: string;
}

/** Reads the filter and the order from the address, so that a link or a reload shows the same list. */
function fromAddress(): { filter: Filter; order: Order } {
  const query = new URLSearchParams(location.search);
  const of = (name: string) => query.get(name) ?? '';
  const by = of('sort');
  const order = isKey(by) ? { by, isDown: query.has('down') } : NEWEST;
  return { filter: { state: of('state'), population: of('population'), name: of('name') }, order };
}

function toAddress(filter: Filter, order: Order): void {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  if (order.by !== NEWEST.by || order.isDown !== NEWEST.isDown) {
    query.set('sort', order.by);
    if (order.isDown) query.set('down', '');
  }
  history.replaceState(null, '', `${location.pathname}${query.size > 0 ? `?${query}` : ''}`);
}

/** All tasks, newest first or in the order that the user chose. Further pages load while the user scrolls. */
export default function TasksView() {
  const [filter, setFilter] = useState(() => fromAddress().filter);
  const [order, setOrder] = useState(() => fromAddress().order);
  useEffect(() => toAddress(filter, order), [filter, order]);
  const [chosen, setChosen] = useState<string[]>([]);
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal));
  const choose = (id: string) =>
    setChosen((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id].slice(-COMPARED_MAX)));
  const isNarrow = useNarrow();
  const change = (part: Partial<Filter>) => setFilter((old) => ({ ...old, ...part }));
  return (
    <Page
      title="Tasks"
      actions={
        <>
          <Button disabled={chosen.length < 2} onClick={() => go(`/tasks/compare/${chosen.join(',')}`)}>
            Compare {chosen.length >= 2 ? chosen.length : ''}
          </Button>
          {may('operator') && (
            <Button kind="primary" onClick={() => go('/tasks/new')}>
              Create a task
            </Button>
          )}
        </>
      }
    >
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          State
          <select value={filter.state} onChange={(event) => change({ state: event.currentTarget.value })}>
            <option value="">all</option>
            {STATES.map((state) => (
              <option key={state} value={state}>
                {state}
              </option>
            ))}
          </select>
        </label>
        <label>
          Population
          <select value={filter.population} onChange={(event) => change({ population: event.currentTarget.value })}>
            <option value="">all</option>
            {overview.data?.populations.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Name
          <input
            type="search"
            value={filter.name}
            placeholder="part of the name"
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
        </label>
        {isNarrow && (
          <label>
            Sort by
            <select value={order.by} onChange={(event) => setOrder(orderBy(event.currentTarget.value as SortKey))}>
              {KEYS.map((key) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </select>
          </label>
        )}
      </form>
      <List key={JSON.stringify(filter)} filter={filter} order={order} sort={setOrder} chosen={chosen} choose={choose} />
    </Page>
  );
}

function query(filter: Filter, before?: string): string {
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (const [key, value] of Object.entries(filter)) if (value) query.set(key, value as string);
  if (before) query.set('before', before);
  return `/tasks?${query}`;
}

type ListProps = { filter: Filter; order: Order; sort: (order: Order) => void; chosen: string[]; choose: (id: string) => void };

function List({ filter, order, sort, chosen, choose }: ListProps) {
  const newest = useData(query(filter), (signal) => get<TaskSummary[]>(query(filter), signal));
  const [older, setOlder] = useState<TaskSummary[]>([]);
  const [isWhole, setWhole] = useState(false);
  const [error, setError] = useState<Error>();
  const isUnderWay = useRef(false);
  const height = useRowHeight();
  const first = newest.data ?? [];
  const known = new Set(first.map((task) => task.id));
  const tasks = [...first, ...older.filter((task) => !known.has(task.id))];
  const isByAge = order.by === 'created' && order.isDown;
  const shown = isByAge ? tasks : sorted(tasks, order);
  const isEnd = isWhole || first.length < PAGE;
  const more = async () => {
    const last = tasks.at(-1);
    if (isUnderWay.current || isEnd || !last) return;
    isUnderWay.current = true;
    try {
      const page = await get<TaskSummary[]>(query(filter, last.id));
      setOlder((old) => [...old, ...page]);
      setWhole(page.length < PAGE);
    } catch (caught) {
      setError(caught as Error);
    }
    isUnderWay.current = false;
  };
  useEffect(() => {
    // The coordinator lists tasks by age, so any other order needs all of them.
    if (!isByAge && !isEnd && tasks.length < SORTED_MAX) void more();
  }, [isByAge, isEnd, tasks.length]);
  if (newest.error && !newest.data) return <ErrorNote error={newest.error} again={newest.again} />;
  if (!newest.data)
    return (
      <p class="note" role="status">
        Loading…
      </p>
    );
  if (tasks.length === 0) {
    const isFiltered = Object.values(filter).some(Boolean);
    return (
      <Empty>
        {isFiltered ? (
          <p>No task matches these filters. Remove some of them.</p>
        ) : (
          <>
            <h2>There are no tasks yet</h2>
            <p>
              A task trains one model. This list will show its metric, its curve and its rounds. <Link to="/tasks/new">Create one</Link>,
              start the demo on the <Link to="/">overview</Link>, or run <code>folkmoot task create task.toml --model model.onnx</code>.
            </p>
          </>
        )}
      </Empty>
    );
  }
  return (
    <>
      {error && <ErrorNote error={error} />}
      <p class="note" role="status">
        {count(tasks.length)} {isEnd ? (tasks.length === 1 ? 'task' : 'tasks') : 'tasks loaded; scroll for more'}
      </p>
      <LongList
        caption={isByAge ? 'Tasks, newest first' : `Tasks by ${order.by}`}
        total={tasks.length}
        height={height}
        head={<Head order={order} sort={sort} />}
        row={(index) => {
          const task = shown[index];
          return task ? (
            <Row
              key={task.id}
              task={task}
              index={index}
              isChosen={chosen.includes(task.id)}
              choose={choose}
              near={index > tasks.length - 20 ? more : undefined}
            />
          ) : null;
        }}
      />
    </>
  );
}
