/** Estimates of when a task ends. Pure functions of the API's answers. */

import type { Series, Statement, Task } from '../api/types';

export interface Projection {
  /** Committed rounds that are still to come. */
  left: number;
  /** The median time of a recent round, in milliseconds. */
  each: number;
  /** The number of recent rounds that `each` comes from. */
  from: number;
  /** When the last round would end, in milliseconds since 1970. */
  at: number;
}

/** The number of recent rounds that an estimate comes from. */
const RECENT = 10;

/**
 * Returns the median time between recent versions, in milliseconds, and the number of times behind it. Points may skip
 * versions, so each gap is divided by the versions that it spans. Undefined without two versions of rounds.
 */
export function pace(points: Series['points']): { each: number; from: number } | undefined {
  const rounds = points.filter((point) => typeof point.round_number === 'number');
  const gaps = rounds.slice(1).map((point, index) => {
    const before = rounds[index] as (typeof rounds)[number];
    return (point.created_at - before.created_at) / Math.max(1, point.version - before.version);
  });
  const recent = gaps.slice(-RECENT).sort((a, b) => a - b);
  const each = recent[Math.floor(recent.length / 2)];
  return each === undefined ? undefined : { each, from: recent.length };
}

/** The number of committed rounds after which a task stops. Undefined if it stops for other reasons only. */
export function roundsWanted(task: Task): number | undefined {
  return (task.description['stop'] as { rounds?: number } | undefined)?.rounds;
}

/** Estimates the end of a task that stops after `wanted` rounds, of which `done` are committed. */
export function projected(points: Series['points'], done: number, wanted: number, now: number): Projection | undefined {
  const found = pace(points);
  const last = points.at(-1);
  const left = wanted - done;
  if (!found || !last || left <= 0) return undefined;
  // A round that takes longer than usual moves the end: at best, it is committed right now.
  const at = Math.max(last.created_at + left * found.each, now + (left - 1) * found.each);
  return { left, ...found, at };
}

/**
 * Estimates how many more versions the privacy budget allows at the current rate. Under zero-concentrated differential
 * privacy, rho grows in proportion to the number of versions, and epsilon(rho) = rho + 2·sqrt(rho·ln(1/delta)) (Bun and
 * Steinke 2016, proposition 1.3). The accountant's own conversion is tighter, so the estimate is a lower bound.
 * `Infinity` if the limit on participations keeps the task within its budget; undefined if there is no estimate.
 */
export function versionsLeft(statement: Statement): number | undefined {
  const { rho_spent: rho, epsilon_budget: budget, delta, releases, participations_max: cap } = statement;
  if (!rho || !budget || !delta || releases === 0) return undefined;
  if (cap && releases >= cap) return Infinity;
  const l = Math.log(1 / delta);
  const allowed = (Math.sqrt(l + budget) - Math.sqrt(l)) ** 2;
  return Math.max(0, Math.floor((allowed / rho) * releases) - releases);
}
