import { useEffect, useRef, useState } from 'preact/hooks';

import { get } from '../api/client';
import type { Overview, TaskSummary } from '../api/types';
import { Button, Empty, ErrorNote, Link, LongList, Page, State } from '../components';
import { at, count } from '../format';
import { useData } from '../live';
import { go } from '../router';
import { may } from '../session';

const STATES = ['active', 'paused', 'draft', 'completed', 'cancelled'];
const PAGE = 100;
const ROW_HEIGHT = 44;
/** The maximum number of tasks that can be compared. */
const COMPARED_MAX = 4;

interface Filter {
  state: string;
  population: string;
  name: string;
}

/** All tasks, newest first. Further pages load while the user scrolls. */
export default function TasksView() {
  const [filter, setFilter] = useState<Filter>({ state: '', population: '', name: '' });
  const [chosen, setChosen] = useState<string[]>([]);
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal));
  const choose = (id: string) =>
    setChosen((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id].slice(-COMPARED_MAX)));
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
      </form>
      <List key={JSON.stringify(filter)} filter={filter} chosen={chosen} choose={choose} />
    </Page>
  );
}

function query(filter: Filter, before?: string): string {
  const query = new URLSearchParams({ limit: String(PAGE) });
  for (const [key, value] of Object.entries(filter)) if (value) query.set(key, value as string);
  if (before) query.set('before', before);
  return `/tasks?${query}`;
}

function List({ filter, chosen, choose }: { filter: Filter; chosen: string[]; choose: (id: string) => void }) {
  const newest = useData(query(filter), (signal) => get<TaskSummary[]>(query(filter), signal));
  const [older, setOlder] = useState<TaskSummary[]>([]);
  const [isWhole, setWhole] = useState(false);
  const [error, setError] = useState<Error>();
  const isUnderWay = useRef(false);
  const first = newest.data ?? [];
  const known = new Set(first.map((task) => task.id));
  const tasks = [...first, ...older.filter((task) => !known.has(task.id))];
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
          <p>
            There are no tasks yet. <Link to="/tasks/new">Create one</Link>, or start the demo on the <Link to="/">overview</Link>.
          </p>
        )}
      </Empty>
    );
  }
  return (
    <>
      {error && <ErrorNote error={error} />}
      <p class="note" role="status">
        {count(tasks.length)} {isEnd ? 'tasks' : 'tasks loaded; scroll for more'}
      </p>
      <LongList
        caption="Tasks, newest first"
        total={tasks.length}
        height={ROW_HEIGHT}
        head={
          <div class="row tasks-row" role="row">
            {['Compare', 'Name', 'Population', 'State', 'Rounds', 'Created'].map((name) => (
              <span key={name} role="columnheader">
                {name}
              </span>
            ))}
          </div>
        }
        row={(index) => {
          const task = tasks[index];
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

type RowProps = {
  task: TaskSummary;
  index: number;
  isChosen: boolean;
  choose: (id: string) => void;
  near: (() => Promise<void>) | undefined;
};

function Row({ task, index, isChosen, choose, near }: RowProps) {
  useEffect(() => void near?.(), [near === undefined]);
  const rounds = task.rounds_wanted ? `${count(task.rounds_committed)} of ${count(task.rounds_wanted)}` : count(task.rounds_committed);
  return (
    <div class="row tasks-row" role="row" aria-rowindex={index + 2}>
      <span role="cell">
        <input type="checkbox" checked={isChosen} aria-label={`Compare ${task.name}`} onChange={() => choose(task.id)} />
      </span>
      <span role="cell">
        <Link to={`/tasks/${task.id}`}>{task.name}</Link>
      </span>
      <span role="cell">{task.population}</span>
      <span role="cell">
        <State state={task.state} />
      </span>
      <span role="cell">{rounds}</span>
      <span role="cell">{at(task.created_at)}</span>
    </div>
  );
}
