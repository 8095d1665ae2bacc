/** A small line without axes, for lists and cards. Its end is marked, and its text says the values. */

const WIDTH = 120;
const HEIGHT = 28;
const INSET = 3;

/** Draws `values` from left to right. Fewer than two values draw nothing. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  if (values.length < 2) return null;
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  const x = (index: number) => INSET + (index * (WIDTH - 2 * INSET)) / (values.length - 1);
  const y = (value: number) => HEIGHT - INSET - (span === 0 ? 0.5 : (value - low) / span) * (HEIGHT - 2 * INSET);
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  const end = values.length - 1;
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} preserveAspectRatio="none">
      <polyline points={points.join(' ')} />
      <circle cx={x(end)} cy={y(values[end] as number)} r="2.2" />
    </svg>
  );
}
