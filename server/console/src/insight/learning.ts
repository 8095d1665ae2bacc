/** The metric that says best whether a task learns, and how it develops. Pure functions of the API's answers. */

import type { Series } from '../api/types';

/** The source of a measurement: the coordinator, the clients on held-out examples, or the clients while they trained. */
export type Source = 'central' | 'federated' | 'fine_tuned' | 'training';

export interface Curve {
  metric: string;
  source: Source;
  /** The measured versions, oldest first. */
  points: { version: number; value: number }[];
}

export type Trend = 'rising' | 'level' | 'falling';

/** Held-out examples come first: a training metric is measured on weights that change with every step. */
const SOURCES: Source[] = ['central', 'federated', 'fine_tuned'];
const SHARES = new Set(['accuracy', 'top_5_accuracy', 'precision_macro', 'recall_macro', 'f1_macro', 'f1_weighted', 'roc_auc']);
const BETTER_IF_LOWER = new Set(['loss', 'perplexity', 'rmse', 'mae']);
const NAMES: Record<string, string> = {
  top_5_accuracy: 'top-5 accuracy',
  precision_macro: 'precision (macro)',
  recall_macro: 'recall (macro)',
  f1_macro: 'F1 (macro)',
  f1_weighted: 'F1 (weighted)',
  roc_auc: 'area under the ROC curve',
  rmse: 'root mean squared error',
  mae: 'mean absolute error',
  r2: 'R²',
};
const MEASURED: Record<Source, string> = {
  central: 'on your examples',
  federated: 'on held-out examples of clients',
  fine_tuned: 'on held-out examples, after fine-tuning',
  training: 'while training',
};
/** The number of versions that a trend compares with the same number before them. */
const WINDOW = 10;
/** The smallest change that counts: 0.1 points of a share, and 0.1 % of any other metric. */
const STEP = 0.001;

/** Returns whether a metric is a share from 0 to 1, which is shown in percent. */
export function isShare(metric: string): boolean {
  return SHARES.has(metric);
}

export function isBetterIfLower(metric: string): boolean {
  return BETTER_IF_LOWER.has(metric);
}

export function metricName(metric: string): string {
  return NAMES[metric] ?? metric.replaceAll('_', ' ');
}

export function measuredOn(source: string): string {
  return MEASURED[source as Source] ?? source.replaceAll('_', ' ');
}

/** Returns the task's metric from the best source, or a training metric if nothing was evaluated. */
export function headline(series: Series): Curve | undefined {
  for (const source of SOURCES) {
    const curve = evaluated(series, source);
    if (curve) return curve;
  }
  return training(series, 'accuracy') ?? training(series, 'loss');
}

function evaluated(series: Series, source: Source): Curve | undefined {
  const own = series.evaluations.filter((one) => one.source === source && one.metrics[one.metric] !== undefined);
  const metric = own.at(-1)?.metric;
  if (metric === undefined) return undefined;
  const points = own.map((one) => ({ version: one.version, value: one.metrics[metric] as number }));
  return { metric, source, points: points.sort((a, b) => a.version - b.version) };
}

function training(series: Series, metric: 'accuracy' | 'loss'): Curve | undefined {
  const points = series.points.flatMap((point) => {
    const value = point[metric];
    return typeof value === 'number' ? [{ version: point.version, value }] : [];
  });
  return points.length > 0 ? { metric, source: 'training', points } : undefined;
}

/** Returns the measured version with the best value. */
export function best(curve: Curve): { version: number; value: number } | undefined {
  const sign = isBetterIfLower(curve.metric) ? -1 : 1;
  return curve.points.reduce<Curve['points'][number] | undefined>(
    (found, point) => (found === undefined || sign * point.value > sign * found.value ? point : found),
    undefined,
  );
}

/**
 * Compares the mean of the newest versions with the mean of as many before them. `change` is in units of the metric,
 * `over` the number of versions in each mean. Undefined with fewer than four measured versions.
 */
export function trend(curve: Curve): { trend: Trend; change: number; over: number } | undefined {
  const values = curve.points.map((point) => point.value);
  const over = Math.min(WINDOW, Math.floor(values.length / 2));
  if (over < 2) return undefined;
  const mean = (some: number[]) => some.reduce((sum, value) => sum + value, 0) / some.length;
  const before = mean(values.slice(-2 * over, -over));
  const change = mean(values.slice(-over)) - before;
  const least = isShare(curve.metric) ? STEP : STEP * Math.abs(before);
  const better = isBetterIfLower(curve.metric) ? -change : change;
  return { trend: better > least ? 'rising' : better < -least ? 'falling' : 'level', change, over };
}
