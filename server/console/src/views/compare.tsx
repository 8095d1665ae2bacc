import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { Series, Task, TaskSummary } from '../api/types';
import { Chart, type Line } from '../charts/chart';
import type { Smoothing } from '../charts/smooth';
import { ChartTools } from '../charts/tools';
import { Button, Card, Empty, Field, Link, Loaded, Page, Table } from '../components';
import { capital, measure } from '../format';
import { best, headline, isShare, measuredOn, metricName } from '../insight/learning';
import { IDLE_MILLISECONDS } from '../insight/use-facts';
import { NEVER, useData, useEvery } from '../live';
import { go } from '../router';
import { type Compared, merged, OVERS, type Over, positions, values } from './compared';
import { COMPARED_MAX } from './task-rows';

/** The number of newest tasks that can be added to the comparison from the list. */
const OFFERED = 100;

/** Tasks side by side: their different settings, and their curves in shared charts. */
export default function CompareView({ parameters: [ids = ''] }: { parameters: string[] }) {
  const chosen = ids.split(',').filter(Boolean).slice(0, COMPARED_MAX);
  const data = useData(
    `compare ${ids}`,
    (signal) =>
      Promise.all(
        chosen.map(
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
      <Choose chosen={chosen} compared={data.data ?? []} />
      <Loaded data={data}>
        {(compared) =>
          compared.length < 2 ? (
            <Empty>
              <h2>Add a second task</h2>
              <p>This page shows which settings of the tasks differ, and their curves in one chart.</p>
            </Empty>
          ) : (
            <>
              <Curves compared={compared} />
              <Settings compared={compared} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** The compared tasks as tags, and a list of tasks to add. The address keeps the choice. */
function Choose({ chosen, compared }: { chosen: string[]; compared: Compared[] }) {
  const offered = useData('tasks to compare', (signal) => get<TaskSummary[]>(`/tasks?limit=${OFFERED}`, signal), NEVER);
  useEvery(IDLE_MILLISECONDS, offered);
  const become = (ids: string[]) => go(ids.length > 0 ? `/tasks/compare/${ids.join(',')}` : '/tasks', true);
  const rest = (offered.data ?? []).filter((task) => !chosen.includes(task.id));
  return (
    <div class="filters">
      <ul class="tags" aria-label="Compared tasks">
        {compared.map(({ task }, index) => (
          <li key={task.id}>
            <span class={`swatch line-${index + 1}`} aria-hidden="true" />
            <Link to={`/tasks/${task.id}`}>{String(task.description['name'])}</Link>
            <Button
              kind="quiet"
              label={`Remove ${String(task.description['name'])}`}
              onClick={() => become(chosen.filter((id) => id !== task.id))}
            >
              ×
            </Button>
          </li>
        ))}
      </ul>
      {chosen.length < COMPARED_MAX && rest.length > 0 && (
        <Field label="Add a task">
          {(field) => (
            <select {...field} value="" onChange={(event) => become([...chosen, event.currentTarget.value])}>
              <option value="">choose</option>
              {rest.map((task) => (
                <option key={task.id} value={task.id}>{`${task.name} (${task.population}, ${task.state})`}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </div>
  );
}

/** Flattens a description to pairs of a path and a value. */
function flat(value: unknown, path = ''): [string, string][] {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return [[path, typeof value === 'string' ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, path ? `${path}.${key}` : key));
}

/** The last and the best value of a task's most telling metric. */
function results(series: Series): { last: string; best: string } {
  const curve = headline(series);
  const [last, top] = [curve?.points.at(-1), curve && best(curve)];
  if (!curve || !last || !top) return { last: 'none', best: 'none' };
  return {
    last: `${measure(curve.metric, last.value)} ${metricName(curve.metric)} ${measuredOn(curve.source)}`,
    best: `${measure(curve.metric, top.value)} at version ${top.version}`,
  };
}

function Settings({ compared }: { compared: Compared[] }) {
  const settings = compared.map(({ task }) => new Map(flat(task.description)));
  const paths = [...new Set(settings.flatMap((one) => [...one.keys()]))];
  const different = paths.filter((path) => new Set(settings.map((one) => one.get(path))).size > 1);
  const rows = [
    { path: 'state', values: compared.map(({ task }) => task.state) },
    { path: 'rounds committed', values: compared.map(({ task }) => String(task.rounds_committed)) },
    { path: 'last metric', values: compared.map(({ series }) => results(series).last) },
    { path: 'best metric', values: compared.map(({ series }) => results(series).best) },
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
    </Card>
  );
}

/** A chart for each metric, with a line for each task: metrics of evaluations first, then metrics of training. */
function Curves({ compared }: { compared: Compared[] }) {
  const [over, setOver] = useState<Over>('versions');
  const [smoothing, setSmoothing] = useState<Smoothing>('off');
  const [isLog, setLog] = useState(false);
  const xs = merged(compared, over);
  const evaluated = compared.flatMap(({ series }) =>
    series.evaluations.flatMap((one) => Object.keys(one.metrics).map((metric) => `${one.source} ${metric}`)),
  );
  const keys = [...new Set(evaluated), 'training accuracy', 'training loss'];
  const line =
    (key: string) =>
    (one: Compared, index: number): Line => ({
      label: `${index + 1}: ${one.task.description['name'] as string}`,
      unit: isShare(key.split(' ')[1] ?? '') ? 'share' : '',
      values: positions(xs, one, over, values(one.series, key)),
      spansGaps: true,
    });
  const hasValues = (key: string) => compared.some(({ series }) => values(series, key).some((value) => value !== null));
  return (
    <Card
      title="Curves"
      actions={
        <div class="switch" role="group" aria-label="X axis">
          {OVERS.map((one) => (
            <button key={one} type="button" aria-pressed={over === one} onClick={() => setOver(one)}>
              {one}
            </button>
          ))}
        </div>
      }
    >
      <div class="columns">
        {keys.filter(hasValues).map((key) => {
          const [source = '', metric = ''] = key.split(' ');
          const title = `${capital(metricName(metric))} ${measuredOn(source)}`;
          return (
            <Chart
              key={key}
              title={title}
              x={{
                label: over === 'versions' ? 'Version' : over === 'time' ? 'Minutes since version 0' : 'Updates received',
                unit: over === 'bytes' ? 'bytes' : '',
                values: xs,
                isWhole: over === 'versions',
              }}
              yUnit={isShare(metric) ? `${metricName(metric)} (%)` : metricName(metric)}
              lines={compared.map(line(key))}
              smoothing={smoothing}
              isLog={isLog && !isShare(metric)}
            />
          );
        })}
      </div>
      <ChartTools smoothing={smoothing} setSmoothing={setSmoothing} isLog={isLog} setLog={setLog} />
    </Card>
  );
}
