/** The values of curves, and the curves of several tasks on one axis. */

import type { Series, Task } from '../api/types';

export type Compared = { task: Task; series: Series };
export type Over = 'versions' | 'time' | 'bytes';
export const OVERS: Over[] = ['versions', 'time', 'bytes'];

const MILLISECONDS_PER_MINUTE = 60_000;

/** The position of each version of a series on the axis; null if it is not known. */
function axis(series: Series, over: Over): (number | null)[] {
  const begin = series.points[0]?.created_at ?? 0;
  return series.points.map((point) => {
    switch (over) {
      case 'versions':
        return point.version;
      case 'time':
        return (point.created_at - begin) / MILLISECONDS_PER_MINUTE;
      case 'bytes':
        return point.upload_bytes ?? null;
    }
  });
}

/** All positions of all series, in order and without repetitions. */
export function merged(compared: Compared[], over: Over): number[] {
  const all = compared.flatMap(({ series }) => axis(series, over)).filter((value) => value !== null);
  return [...new Set(all)].sort((a, b) => a - b);
}

/** A metric of each version. `key` is who measured and the metric's name, such as `central accuracy`. */
export function values(series: Series, key: string): (number | null)[] {
  const [source, metric = ''] = key.split(' ');
  if (source === 'training') return series.points.map((point) => point[metric as 'accuracy' | 'loss'] ?? null);
  const measured = new Map(series.evaluations.filter((one) => one.source === source).map((one) => [one.version, one.metrics[metric]]));
  return series.points.map((point) => measured.get(point.version) ?? null);
}

/** A task's values at the merged positions, with gaps where only other tasks have points. */
export function positions(xs: number[], { series }: Compared, over: Over, own: (number | null)[]): (number | null)[] {
  const known = new Map(axis(series, over).map((x, index) => [x, own[index] ?? null]));
  return xs.map((x) => known.get(x) ?? null);
}
