/** Smoothing of noisy curves. The tables and exported files always have the values as measured. */

import type { Line } from './options';

export type Smoothing = 'off' | 'light' | 'strong';

const KEPT: Record<Smoothing, number> = { off: 0, light: 0.6, strong: 0.9 };

/**
 * Returns the exponential moving average of `values`, in which each value keeps the share `kept` of the average before it.
 * The average is corrected for its start at zero (Kingma and Ba 2015, section 3). Gaps stay gaps.
 */
export function averaged(values: (number | null)[], kept: number): (number | null)[] {
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    if (value === null) return null;
    sum = kept * sum + (1 - kept) * value;
    weight = kept * weight + (1 - kept);
    return sum / weight;
  });
}

/** Adds a smoothed line for each line, and draws the measured values faintly behind it. Bars stay as they are. */
export function smoothed(lines: Line[], smoothing: Smoothing): Line[] {
  if (smoothing === 'off' || lines.some((line) => line.isBar)) return lines;
  return lines.flatMap((line, index) => [
    { ...line, isFaint: true, colour: index },
    { ...line, label: `${line.label}, smoothed`, values: averaged(line.values, KEPT[smoothing]), colour: index },
  ]);
}
