import { get, send } from '../api/client';
import type { Overview, Task } from '../api/types';
import { Chart } from '../charts/chart';
import { Action, Card, Empty, Facts, Link, Loaded, Page, Table, Time } from '../components';
import { bytes, count, sumOfTold, told } from '../format';
import { CLIENTS_MILLISECONDS, useData, useEvery } from '../live';
import { go } from '../router';
import { may } from '../session';

const STATES = ['active', 'paused', 'draft', 'completed', 'cancelled'];

/** An overview of the coordinator. */
export function OverviewView() {
  const data = useData('overview', (signal) => get<Overview>('/overview', signal));
  useEvery(CLIENTS_MILLISECONDS, data);
  return (
    <Page title="Overview">
      <Loaded data={data}>
        {(overview) => {
          const isNew = Object.keys(overview.tasks).length === 0;
          return (
            <>
              {isNew && <FirstRun />}
              <Health overview={overview} />
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
        Try the demo: it learns to read handwritten digits from 20 simulated clients, which run inside this coordinator. Or{' '}
        <Link to="/tasks/new">create a task</Link> from your own model.
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

function Health({ overview }: { overview: Overview }) {
  const sum = (of: (one: Overview['populations'][number]) => number | null | undefined) => told(sumOfTold(overview.populations.map(of)));
  const last = overview.hours.slice(-2);
  const rounds = last.reduce((all, hour) => all + hour.committed, 0);
  return (
    <Card title="Now">
      {overview.problems.map((problem) => (
        <p key={problem} class="error" role="alert">
          {problem}
        </p>
      ))}
      <Facts
        facts={[
          ['Coordinator', overview.is_ready ? `ready, version ${overview.version}` : 'not ready'],
          ['Running since', <Time at={overview.started_at} />],
          ['Clients enrolled', sum((one) => one.enrolled)],
          ['Waiting for a round', sum((one) => one.waiting)],
          ['Training', sum((one) => one.training)],
          ['Rounds committed, this hour and the previous one', count(rounds)],
          ['Updates received in 24 h', told(sumOfTold(overview.hours.map((hour) => hour.upload_bytes)), bytes)],
          ...STATES.filter((state) => overview.tasks[state]).map((state): [string, string] => [
            `Tasks ${state}`,
            count(overview.tasks[state] ?? 0),
          ]),
        ]}
      />
    </Card>
  );
}

function Populations({ overview }: { overview: Overview }) {
  return (
    <Card title="Populations">
      {overview.populations.length === 0 ? (
        <Empty>
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
