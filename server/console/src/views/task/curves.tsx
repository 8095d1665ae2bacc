import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';

import type { Evaluation, Series, SeriesPoint, Task } from '../../api/types';
import { type Axis, Chart, type Line } from '../../charts/chart';
import type { Smoothing } from '../../charts/smooth';
import { ChartTools } from '../../charts/tools';
import { Card, Empty, Facts, Loaded } from '../../components';
import { capital, count, measure } from '../../format';
import { headline, isShare, measuredOn, metricName } from '../../insight/learning';
import { roundsWanted } from '../../insight/projection';
import type { Data } from '../../live';
import { OVERS, type Over, values } from '../compared';
import { Classes } from './classes';

const NO_METRICS = 'No metrics yet. Private tasks do not report client metrics; set evaluation.central to evaluate on your own data.';
/** The part of its rounds that a task must have done before the chart shows the way to its end. */
const FAR_ENOUGH = 0.2;

type Shape = { series: Series; over: Over; smoothing: Smoothing; isLog: boolean; end: number | undefined };

/** The progress of a task over its versions, time, or bytes received: first its most telling metric, then all others. */
export function Curves({ task, data, aside }: { task: Task; data: Data<Series>; aside: ComponentChildren }) {
  const [over, setOver] = useState<Over>('versions');
  const [smoothing, setSmoothing] = useState<Smoothing>('off');
  const [isLog, setLog] = useState(false);
  const privacy = task.description['privacy'] as { kind?: string } | undefined;
  const isPrivate = privacy?.kind !== undefined && privacy.kind !== 'none';
  const best = data.data?.evaluations.filter((one) => one.is_best) ?? [];
  const wanted = roundsWanted(task) ?? 0;
  const end = task.state === 'active' && task.rounds_committed >= FAR_ENOUGH * wanted ? wanted : undefined;
  const shape = data.data && { series: data.data, over, smoothing, isLog, end: end || undefined };
  const hasCurves = data.data && data.data.points.length >= 2;
  // The charts are drawn again only if they change, not whenever the page learns something else about the task.
  const drawn = [data.data, over, smoothing, isLog, end];
  const telling = useMemo(() => shape && <Telling {...shape} />, drawn);
  const others = useMemo(() => shape && <Others {...shape} />, drawn);
  return (
    <>
      <div class="split">
        <Card
          title="Learning"
          note="Clients measure while they train, on weights that change with every step. Evaluations measure the versions themselves."
          actions={
            <div class="switch" role="group" aria-label="X axis">
              {OVERS.map((one) => (
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
            {() =>
              hasCurves && shape ? (
                <>
                  {telling}
                  <ChartTools smoothing={smoothing} setSmoothing={setSmoothing} isLog={isLog} setLog={setLog} />
                </>
              ) : (
                <Empty>
                  <h3>The learning curve appears here</h3>
                  <p>It begins with the first committed round, and shows how well every version does.</p>
                </Empty>
              )
            }
          </Loaded>
        </Card>
        <div>{aside}</div>
      </div>
      {hasCurves && shape && <Card title="More curves">{others}</Card>}
      {best.length > 0 && (
        <Card title="Best versions" note="The best evaluated versions by the task's metric.">
          <Facts
            facts={best.map((one): [string, string] => [
              `${one.source.replace('_', ' ')}: version ${one.version}`,
              `${named(one)}${measure('accuracy', one.accuracy)} correct, loss ${measure('loss', one.mean_loss)}, ${examples(one)}`,
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
  return isShown(one.metric) ? '' : `${metricName(one.metric)} ${measure(one.metric, one.metrics[one.metric])}, `;
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

function axis(points: SeriesPoint[], over: Over, end?: number): Axis {
  switch (over) {
    case 'versions':
      return { label: 'Version', unit: '', values: points.map((point) => point.version), isWhole: true, end };
    case 'time':
      return { label: 'Released', unit: 'time', values: points.map((point) => point.created_at) };
    case 'bytes':
      return { label: 'Updates received', unit: 'bytes', values: points.map((point) => point.upload_bytes ?? null) };
  }
}

/** One chart of a metric: the clients' values while they train, if they report them, and the evaluations. */
function Metric({ metric, ...shape }: Shape & { metric: string }) {
  const { series, over, end } = shape;
  const trained = isShown(metric) ? ['training'] : [];
  const measured = series.evaluations.filter((one) => one.metrics[metric] !== undefined);
  const sources = [...trained, ...new Set(measured.map((one) => one.source))];
  const title = capital(metricName(metric));
  const lines = sources.map(
    (source): Line => ({
      label: `${title} ${measuredOn(source)}`,
      unit: isShare(metric) ? 'share' : metric === 'loss' ? 'mean' : '',
      values: values(series, `${source} ${metric}`),
    }),
  );
  return (
    <Chart
      title={title}
      x={axis(series.points, over, end)}
      yUnit={isShare(metric) ? `${title} (%)` : metric === 'loss' ? 'Loss (mean)' : title}
      lines={lines}
      empty={NO_METRICS}
      smoothing={shape.smoothing}
      isLog={shape.isLog && !isShare(metric)}
    />
  );
}

function told(series: Series): string {
  return headline(series)?.metric ?? 'accuracy';
}

function Telling(shape: Shape) {
  return (
    <>
      {shape.series.stride > 1 && <p class="note">The charts show one in {shape.series.stride} versions, and the newest.</p>}
      <Metric metric={told(shape.series)} {...shape} />
    </>
  );
}

function Others(shape: Shape) {
  const { series, over, end, smoothing, isLog } = shape;
  const { points } = series;
  const x = axis(points, over, end);
  const own = series.evaluations[0]?.metric ?? 'accuracy';
  const metrics = ['accuracy', 'loss', own].filter((one, index, all) => one !== told(series) && all.indexOf(one) === index);
  const hasStaleness = points.some((point) => point.staleness_max > 0);
  return (
    <div class="columns">
      {metrics.map((metric) => (
        <Metric key={metric} metric={metric} {...shape} />
      ))}
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
        smoothing={smoothing}
        isLog={isLog}
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
            { label: 'Mean age of an update', unit: 'versions', values: points.map((point) => point.mean_staleness) },
            { label: 'Oldest update', unit: 'versions', values: points.map((point) => point.staleness_max) },
          ]}
        />
      )}
    </div>
  );
}
