import { count, measure, points } from '../format';
import type { Answer, Facts } from './facts';
import { best, type Curve, headline, measuredOn, metricName, trend } from './learning';

/** A loss that is this many times the lowest one means that training diverges. */
const DIVERGED = 2;
/** The number of versions after which a level or falling metric is worth a warning. */
const PATIENCE = 20;

/** Answers “Is it learning?” from the metric on held-out examples, or from training metrics if nothing was evaluated. */
export function learning({ task, series }: Facts): Answer {
  if (!series) return { tone: 'calm', verdict: 'Loading', cause: 'The curve is loading' };
  const curve = headline(series);
  const last = curve?.points.at(-1);
  if (!curve || !last) return unmeasured(task.state, task.rounds_committed, series.points.at(-1)?.change_norm);
  const now = `${metricName(curve.metric)} ${measuredOn(curve.source)} is ${measure(curve.metric, last.value)}`;
  const top = best(curve);
  if (task.state === 'completed' || task.state === 'cancelled') {
    const isLast = !top || top.version === last.version;
    return {
      tone: task.state === 'completed' ? 'good' : 'calm',
      verdict: 'Learnt',
      cause: `The last ${now}${isLast ? '' : `; the best was ${measure(curve.metric, top.value)} at version ${count(top.version)}`}`,
    };
  }
  return moving(curve, now, top?.version, last.version);
}

function moving(curve: Curve, now: string, top: number | undefined, last: number): Answer {
  const found = trend(curve);
  const cause = `The ${now}`;
  if (curve.metric === 'loss' && diverges(curve))
    return {
      tone: 'bad',
      verdict: 'Diverging',
      cause: `${cause}, more than ${DIVERGED} times the lowest loss`,
      remedy: 'Pause the task and roll back to an earlier version. A lower learning rate or smaller clipping norm prevents this.',
    };
  if (!found) return { tone: 'calm', verdict: 'Too early to say', cause: `${cause} after ${count(curve.points.length)} measured versions` };
  const over = `over the last ${count(found.over)} measured versions`;
  if (found.trend === 'rising')
    return { tone: 'good', verdict: 'Learning', cause: `${cause}, ${points(curve.metric, found.change)} ${over}` };
  const isLong = curve.points.length >= PATIENCE;
  if (found.trend === 'falling' && isLong)
    return {
      tone: 'warn',
      verdict: 'Getting worse',
      cause: `${cause}, ${points(curve.metric, found.change)} ${over}`,
      remedy: `The best version is ${count(top ?? last)}. Pause the task to roll back to it.`,
    };
  if (found.trend === 'falling')
    return { tone: 'calm', verdict: 'Unsteady', cause: `${cause}, ${points(curve.metric, found.change)} ${over}` };
  return {
    tone: 'calm',
    verdict: 'Level',
    cause: `${cause} and has hardly changed ${over}`,
    ...(isLong ? { remedy: 'It may have learnt what it can. Set stop.plateau in the next task to end it by itself.' } : {}),
  };
}

function diverges(curve: Curve): boolean {
  const lowest = best(curve)?.value ?? 0;
  const recent = curve.points.slice(-3);
  return curve.points.length >= 6 && recent.every((point) => point.value > DIVERGED * lowest);
}

function unmeasured(state: string, committed: number, change: number | undefined): Answer {
  if (committed === 0)
    return { tone: 'calm', verdict: state === 'active' ? 'Not yet' : 'Not trained', cause: 'No round has committed a version yet' };
  return {
    tone: 'calm',
    verdict: 'Not measured',
    cause: `No metric is reported; the last round moved the model by ${change === undefined ? 'an unknown distance' : `${change.toPrecision(3)} (L2)`}`,
    remedy: 'Set evaluation.central in the next task to measure every version on examples of your own.',
  };
}
