import { useState } from 'preact/hooks';

import { get, send } from '../api/client';
import type { Overview, Task, TaskSummary } from '../api/types';
import { Chart } from '../charts/chart';
import { Action, Card, Elapsed, Empty, Facts, Link, Loaded, Page, Table } from '../components';
import { Icon } from '../components/icons';
import { bytes, count, sumOfTold, told } from '../format';
import type { Tone } from '../insight/facts';
import { useOverview } from '../insight/use-facts';
import { useData } from '../live';
import { go } from '../router';
import { may } from '../session';
import { TaskCard } from './task-card';

/** The maximum number of tasks of a state that have a card. */
const CARDS = 12;
/** Cards of tasks that need the operator come first. */
const URGENCY: Tone[] = ['bad', 'warn', 'calm', 'good'];

/** The coordinator at a glance: trouble first, then every running task, its clients and its activity. */
export function OverviewView() {
  const data = useOverview();
  return (
    <Page title="Overview">
      <Loaded data={data}>
        {(overview) => {
          const isNew = Object.keys(overview.tasks).length === 0;
          return (
            <>
              {overview.problems.map((problem) => (
                <p key={problem} class="error" role="alert">
                  {problem}
                </p>
              ))}
              {isNew && <FirstRun />}
              <Now overview={overview} />
              {!isNew && <Running overview={overview} />}
              <Populations overview={overview} />
              {!isNew && <Hours overview={overview} />}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function FirstRun() {
  const start = async () => go(`/tasks/${(await send<Task>('POST', '/demo')).id}`);
  return (
    <Empty>
      <h2>There are no tasks yet</h2>
      <p>
        A task trains one model with the clients of one app. Try the demo: it learns to read handwritten digits from 20 simulated clients,
        which run inside this coordinator. Or <Link to="/tasks/new">create a task</Link> from your own model.
      </p>
      {may('admin') ? (
        <Action kind="primary" act={start}>
          Start the digits demo
        </Action>
      ) : (
        <p class="note">Starting the demo requires an admin's API key.</p>
      )}
    </Empty>
  );
}

function Now({ overview }: { overview: Overview }) {
  const sum = (of: (one: Overview['populations'][number]) => number | null | undefined) => told(sumOfTold(overview.populations.map(of)));
  const rounds = overview.hours.slice(-2).reduce((all, hour) => all + hour.committed, 0);
  const tiles: [string, string][] = [
    ['Clients enrolled', sum((one) => one.enrolled)],
    ['Waiting for a round', sum((one) => one.waiting)],
    ['Training', sum((one) => one.training)],
    ['Rounds, this hour and the last', count(rounds)],
    ['Updates received in 24 h', told(sumOfTold(overview.hours.map((hour) => hour.upload_bytes)), bytes)],
  ];
  return (
    <section class="tiles" aria-label="Now">
      <Facts facts={tiles} />
      <p class="hint">
        Coordinator {overview.is_ready ? 'ready' : 'not ready'}, version {overview.version}, running for{' '}
        <Elapsed since={overview.started_at} />.
      </p>
    </section>
  );
}

/** A card for each active task, and for each paused one. */
function Running({ overview }: { overview: Overview }) {
  const list = (state: string) => `/tasks?state=${state}&limit=${CARDS}`;
  const active = useData(list('active'), (signal) => get<TaskSummary[]>(list('active'), signal));
  const paused = useData(list('paused'), (signal) => get<TaskSummary[]>(list('paused'), signal));
  const [tones, setTones] = useState<Record<string, Tone>>({});
  const report = (id: string, tone: Tone) => setTones((old) => (old[id] === tone ? old : { ...old, [id]: tone }));
  const urgency = ({ id }: TaskSummary) => URGENCY.indexOf(tones[id] ?? 'good');
  const shown = [...(active.data ?? []), ...(paused.data ?? [])].sort((a, b) => urgency(a) - urgency(b));
  const troubled = shown.filter(({ id }) => tones[id] === 'warn' || tones[id] === 'bad').length;
  const { active: running = 0, paused: resting = 0, ...ended } = overview.tasks;
  const others = running + resting - shown.length;
  return (
    <Card
      title="Tasks that run"
      actions={
        troubled > 0 && (
          <span class="alerts">
            <Icon name="warning" /> {troubled === 1 ? '1 task needs' : `${count(troubled)} tasks need`} you
          </span>
        )
      }
    >
      <Loaded data={active}>
        {() =>
          shown.length === 0 ? (
            <Empty>
              <h3>No task runs</h3>
              <p>
                Each running task has a card here, with its status, its curve and its progress. <Link to="/tasks/new">Create a task</Link>{' '}
                or start one of <Link to="/tasks">your tasks</Link>.
              </p>
            </Empty>
          ) : (
            <div class="task-cards">
              {shown.map(({ id }) => (
                <TaskCard key={id} id={id} overview={overview} report={report} />
              ))}
            </div>
          )
        }
      </Loaded>
      <p class="note">
        {others > 0 && `${count(others)} more run or are paused. `}
        {Object.entries(ended).map(([state, number], index) => (
          <span key={state}>
            {index > 0 && ' · '}
            <Link to={`/tasks?state=${state}`}>
              {count(number ?? 0)} {state}
            </Link>
          </span>
        ))}
      </p>
    </Card>
  );
}

function Populations({ overview }: { overview: Overview }) {
  return (
    <Card title="Populations">
      {overview.populations.length === 0 ? (
        <Empty>
          <h3>No population yet</h3>
          <p>
            A population is the set of all clients of one app. Create one with its first <Link to="/access">enrolment token</Link> or task.
          </p>
        </Empty>
      ) : (
        <Table
          caption="Populations"
          rows={overview.populations}
          keyOf={(one) => one.name}
          columns={[
            { name: 'Population', show: (one) => <Link to={`/clients/${one.name}`}>{one.name}</Link> },
            { name: 'Enrolled', isNumber: true, show: (one) => count(one.enrolled) },
            { name: 'Waiting', isNumber: true, show: (one) => told(one.waiting) },
            { name: 'Training', isNumber: true, show: (one) => told(one.training) },
            { name: 'Active tasks', isNumber: true, show: (one) => count(one.active_tasks) },
          ]}
        />
      )}
    </Card>
  );
}

function Hours({ overview }: { overview: Overview }) {
  const x = { label: 'Hour', unit: 'time', values: overview.hours.map((hour) => hour.since) };
  return (
    <div class="columns">
      <Card title="Rounds per hour">
        <Chart
          title="Rounds per hour"
          x={x}
          isTitled
          yUnit="Rounds"
          lines={[
            { label: 'Committed', unit: 'rounds', values: overview.hours.map((hour) => hour.committed), isBar: true, isWhole: true },
            { label: 'Abandoned', unit: 'rounds', values: overview.hours.map((hour) => hour.abandoned), isBar: true, isWhole: true },
          ]}
        />
      </Card>
      <Card title="Bytes received per hour" note="Updates of private tasks are not counted, because their sizes depend on their values.">
        <Chart
          title="Bytes of updates per hour"
          x={x}
          isTitled
          yUnit="Bytes"
          lines={[{ label: 'Updates', unit: 'bytes', values: overview.hours.map((hour) => hour.upload_bytes ?? null), isBar: true }]}
        />
      </Card>
    </div>
  );
}
