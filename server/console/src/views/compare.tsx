import { get } from '../api/client';
import type { Series, Task } from '../api/types';
import { Chart } from '../charts/chart';
import { Card, Link, Loaded, Page, Table } from '../components';
import { number, percent } from '../format';
import { useData } from '../live';

type Compared = { task: Task; series: Series };

/** A few tasks side by side: their different settings, and their curves in shared charts. */
export default function CompareView({ parameters: [ids = ''] }: { parameters: string[] }) {
  const data = useData(
    `compare ${ids}`,
    (signal) =>
      Promise.all(
        ids
          .split(',')
          .slice(0, 4)
          .map(
            async (id): Promise<Compared> => ({
              task: await get<Task>(`/tasks/${id}`, signal),
              series: await get<Series>(`/tasks/${id}/series?points=300`, signal),
            }),
          ),
      ),
    ids,
  );
  return (
    <Page title="Tasks side by side">
      <Loaded data={data}>
        {(compared) => (
          <>
            <Settings compared={compared} />
            <div class="columns">
              <Curves compared={compared} title="Accuracy" unit="share correct" of={(point) => point.accuracy} />
              <Curves compared={compared} title="Loss" unit="mean" of={(point) => point.loss} />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Flattens a description to pairs of a path and a value. */
function flat(value: unknown, path = ''): [string, string][] {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, path ? `${path}.${key}` : key));
}

function Settings({ compared }: { compared: Compared[] }) {
  const settings = compared.map(({ task }) => new Map(flat(task.description)));
  const paths = [...new Set(settings.flatMap((one) => [...one.keys()]))];
  const different = paths.filter((path) => new Set(settings.map((one) => one.get(path))).size > 1);
  const last = (series: Series) => series.points.at(-1);
  const rows = [
    { path: 'state', values: compared.map(({ task }) => task.state) },
    { path: 'rounds committed', values: compared.map(({ task }) => String(task.rounds_committed)) },
    { path: 'last accuracy', values: compared.map(({ series }) => percent(last(series)?.accuracy)) },
    { path: 'last loss', values: compared.map(({ series }) => number(last(series)?.loss)) },
    ...different.map((path) => ({ path, values: settings.map((one) => one.get(path) ?? 'not set') })),
  ];
  return (
    <Card title="Differences" note="Settings that are equal in all tasks are left out.">
      <Table
        caption="Differences"
        rows={rows}
        keyOf={(row) => row.path}
        columns={[
          { name: 'Setting', show: (row) => <code>{row.path}</code> },
          ...compared.map(({ task }, index) => ({
            name: `${index + 1}: ${task.description['name'] as string}`,
            show: (row: (typeof rows)[number]) => (index < row.values.length ? row.values[index] : ''),
          })),
        ]}
      />
      <p>
        {compared.map(({ task }, index) => (
          <span key={task.id} class="gap">
            <Link to={`/tasks/${task.id}`}>Open {index + 1}</Link>
          </span>
        ))}
      </p>
    </Card>
  );
}

function Curves({
  compared,
  title,
  unit,
  of,
}: {
  compared: Compared[];
  title: string;
  unit: string;
  of: (point: Series['points'][number]) => number | null | undefined;
}) {
  const versions = [...new Set(compared.flatMap(({ series }) => series.points.map((point) => point.version)))].sort((a, b) => a - b);
  const lines = compared.map(({ task, series }, index) => {
    const values = new Map(series.points.map((point) => [point.version, of(point) ?? null]));
    return {
      label: `${index + 1}: ${task.description['name'] as string}`,
      unit,
      values: versions.map((version) => values.get(version) ?? null),
    };
  });
  return (
    <Card title={title}>
      <Chart
        title={`${title} over versions`}
        isTitled
        x={{ label: 'Version', unit: '', values: versions, isWhole: true }}
        yUnit={`${title} (${unit})`}
        lines={lines}
      />
    </Card>
  );
}
