import { useState } from 'preact/hooks';

import { get } from '../../api/client';
import type { Evaluation, Series, SeriesPoint, Task } from '../../api/types';
import { type Axis, Chart, type Line } from '../../charts/chart';
import { Card, Empty, Facts, Loaded } from '../../components';
import { count, number, percent, words } from '../../format';
import { useData } from '../../live';
import { Classes } from './classes';

const NO_METRICS = 'No metrics yet. Private tasks do not report client metrics; set evaluation.central to evaluate on your own data.';

type Over = 'versions' | 'time' | 'bytes';

/** The progress of a task, over its versions, time, or bytes received. */
export function Curves({ task }: { task: Task }) {
  const [over, setOver] = useState<Over>('versions');
  const data = useData(`series ${task.id}`, (signal) => get<Series>(`/tasks/${task.id}/series?points=600`, signal), task.id);
  const privacy = task.description['privacy'] as { kind?: string } | undefined;
  const isPrivate = privacy?.kind !== undefined && privacy.kind !== 'none';
  const best = data.data?.evaluations.filter((one) => one.is_best) ?? [];
  return (
    <>
      <Card
        title="Learning"
        note="Clients measure training loss and accuracy while they train, on weights that change with every step. Evaluations measure the versions themselves."
        actions={
          <div class="switch" role="group" aria-label="X axis">
            {(['versions', 'time', 'bytes'] as const).map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={over === one}
                disabled={one === 'bytes' && isPrivate}
                onClick={() => setOver(one)}
              >
                {one}
              </button>
            ))}
          </div>
        }
      >
        <Loaded data={data}>
          {(series) =>
            series.points.length < 2 ? (
              <Empty>
                <p>Curves appear after the first committed round.</p>
              </Empty>
            ) : (
              <Charts series={series} over={over} />
            )
          }
        </Loaded>
      </Card>
      {best.length > 0 && (
        <Card title="Best versions" note="The best evaluated versions by the task's metric.">
          <Facts
            facts={best.map((one): [string, string] => [
              `${one.source}: version ${one.version}`,
              `${named(one)}${percent(one.accuracy)} correct, loss ${number(one.mean_loss)}, ${examples(one)}`,
            ])}
          />
        </Card>
      )}
      {best.map((one) => (
        <Classes key={one.source} task={task} version={one.version} source={one.source} />
      ))}
    </>
  );
}

/** The value of the task's metric, unless it is the accuracy or the loss, which are shown anyway. */
function named(one: Evaluation): string {
  return isShown(one.metric) ? '' : `${words(one.metric)} ${number(one.metrics[one.metric])}, `;
}

function isShown(metric: string): boolean {
  return metric === 'accuracy' || metric === 'loss';
}

/** The number of evaluated examples, or the reason why it is withheld. */
function examples(one: Evaluation): string {
  return one.example_count === null || one.example_count === undefined
    ? 'number of examples withheld, because a private task runs or has run in this population'
    : `${count(one.example_count)} examples`;
}

function axis(points: SeriesPoint[], over: Over): Axis {
  switch (over) {
    case 'versions':
      return { label: 'Version', unit: '', values: points.map((point) => point.version), isWhole: true };
    case 'time':
      return { label: 'Released', unit: 'time', values: points.map((point) => point.created_at) };
    case 'bytes':
      return { label: 'Updates received', unit: 'bytes', values: points.map((point) => point.upload_bytes ?? null) };
  }
}

/** A metric of each version, one line for each source that measured it, with gaps for versions that it did not evaluate. */
function evaluated(series: Series, metric: string, unit: string): Line[] {
  const measured = series.evaluations.filter((one) => one.metrics[metric] !== undefined);
  return [...new Set(measured.map((one) => one.source))].map((source) => {
    const values = new Map(measured.filter((one) => one.source === source).map((one) => [one.version, one.metrics[metric]]));
    return {
      label: `Evaluation, ${source.replace('_', ' ')}`,
      unit,
      values: series.points.map((point) => values.get(point.version) ?? null),
    };
  });
}

function Charts({ series, over }: { series: Series; over: Over }) {
  const { points } = series;
  const x = axis(points, over);
  const lines = (of: 'accuracy' | 'loss', unit: string): Line[] => [
    { label: 'Training', unit, values: points.map((point) => point[of] ?? null) },
    ...evaluated(series, of, unit),
  ];
  const own = series.evaluations[0]?.metric;
  const hasStaleness = points.some((point) => point.staleness_max > 0);
  return (
    <>
      {series.stride > 1 && <p class="note">The charts show one in {series.stride} versions, and the newest.</p>}
      <div class="columns">
        <Chart title="Accuracy" x={x} yUnit="Accuracy (share correct)" lines={lines('accuracy', 'share correct')} empty={NO_METRICS} />
        <Chart title="Loss" x={x} yUnit="Loss (mean)" lines={lines('loss', 'mean')} empty={NO_METRICS} />
        {own && !isShown(own) && (
          <Chart title={words(own)} x={x} yUnit={words(own)} lines={evaluated(series, own, '')} empty={NO_METRICS} />
        )}
        <Chart
          title="Updates combined"
          x={x}
          yUnit="Updates"
          lines={[{ label: 'Updates', unit: 'updates', values: points.map((point) => point.clients ?? null), isBar: true, isWhole: true }]}
        />
        <Chart
          title="Model change"
          x={x}
          yUnit="Distance (L2)"
          lines={[
            {
              label: 'From the previous version',
              unit: 'L2',
              values: points.map((point) => (point.version === 0 ? null : point.change_norm)),
            },
          ]}
        />
        {hasStaleness && (
          <Chart
            title="Staleness"
            x={x}
            yUnit="Age (versions)"
            lines={[
              { label: 'Mean', unit: 'versions', values: points.map((point) => point.mean_staleness) },
              { label: 'Oldest', unit: 'versions', values: points.map((point) => point.staleness_max) },
            ]}
          />
        )}
      </div>
    </>
  );
}
