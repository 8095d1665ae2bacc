import { get } from '../../api/client';
import type { ClassEvaluation, Task, Version } from '../../api/types';
import { ErrorNote, Loaded, Table } from '../../components';
import { measure, points } from '../../format';
import { measuredOn, metricName } from '../../insight/learning';
import { useData } from '../../live';

interface Row {
  name: string;
  metric: string;
  before: number | null | undefined;
  after: number | null | undefined;
}

/** Two versions side by side: every metric that was measured on either, and the difference. */
export function Difference({ task, versions }: { task: Task; versions: Version[] }) {
  const [a, b] = [...versions].sort((one, other) => one.number - other.number);
  const path = (version: Version | undefined) => `/tasks/${task.id}/evaluations/${version?.number}`;
  const data = useData(
    `difference ${path(a)} ${b?.number}`,
    (signal) => Promise.all([a, b].map((version) => get<ClassEvaluation[]>(path(version), signal))),
    task.id,
  );
  if (!a || !b) return <ErrorNote error={new Error('Choose two versions.')} />;
  return (
    <Loaded data={data}>
      {([before = [], after = []]) => {
        const rows = [...evaluated(before, after), ...trained(a, b)];
        return (
          <Table
            caption={`Versions ${a.number} and ${b.number}`}
            rows={rows}
            keyOf={(row) => row.name}
            columns={[
              { name: 'Metric', show: (row) => row.name },
              { name: `Version ${a.number}`, isNumber: true, show: (row) => measure(row.metric, row.before) },
              { name: `Version ${b.number}`, isNumber: true, show: (row) => measure(row.metric, row.after) },
              { name: 'Difference', isNumber: true, show: difference },
            ]}
          />
        );
      }}
    </Loaded>
  );
}

function difference({ metric, before, after }: Row): string {
  return typeof before === 'number' && typeof after === 'number' ? points(metric, after - before) : '–';
}

/** The metrics of evaluations, by who measured them. */
function evaluated(before: ClassEvaluation[], after: ClassEvaluation[]): Row[] {
  const sources = [...new Set([...before, ...after].map((one) => one.evaluation.source))];
  const metrics = (all: ClassEvaluation[], source: string): Record<string, number> =>
    all.find((one) => one.evaluation.source === source)?.evaluation.metrics ?? {};
  return sources.flatMap((source) => {
    const [old, now] = [metrics(before, source), metrics(after, source)];
    return [...new Set([...Object.keys(old), ...Object.keys(now)])].map((metric) => ({
      name: `${metricName(metric)} ${measuredOn(source)}`,
      metric,
      before: old[metric],
      after: now[metric],
    }));
  });
}

/** The figures that the versions' own rounds reported. */
function trained(a: Version, b: Version): Row[] {
  const row = (name: string, metric: string, of: (version: Version) => number | null | undefined): Row => ({
    name,
    metric,
    before: of(a),
    after: of(b),
  });
  return [
    row('accuracy while training', 'accuracy', (version) => version.accuracy),
    row('loss while training', 'loss', (version) => version.mean_loss),
    row('examples', 'examples', (version) => version.example_count),
    row('mean staleness', 'staleness', (version) => version.mean_staleness),
    row('change (L2)', 'change', (version) => version.change_norm),
  ];
}
