/** Line and bar charts over one axis, each with a table of the same values. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { at, bytes, number } from '../format';
import { onTheme } from '../theme';

export interface Axis {
  label: string;
  /** `time` for timestamps in milliseconds; otherwise the unit of the values. */
  unit: string;
  values: (number | null)[];
  /** Values are whole numbers, so the axis has no fractional ticks. */
  isWhole?: boolean;
}

export interface Line extends Axis {
  /** Draws bars from zero instead of a line. */
  isBar?: boolean;
}

const HEIGHT = 240;
const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 16 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);
const COLOURS = ['--line-1', '--line-2', '--line-3', '--line-4', '--line-5'];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function named(axis: Axis): string {
  return axis.unit && axis.unit !== 'time' ? `${axis.label} (${axis.unit})` : axis.label;
}

/** Leaves room for half a bar at both ends. */
function padded(plot: uPlot, low: number, high: number): [number, number] {
  const xs = plot.data[0] ?? [];
  const step = xs.length > 1 ? (high - low) / (xs.length - 1) : 1;
  return [low - step / 2, high + step / 2];
}

/** Returns the range of the y axis of a bar chart. It starts at zero, because a bar's length stands for its value. */
function fromZero(_: uPlot, __: number, high: number): [number, number] {
  return [0, high > 0 ? high * 1.05 : 1];
}

function options(width: number, x: Axis, lines: Line[], yUnit: string): uPlot.Options {
  const hasBars = lines.some((line) => line.isBar);
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--grid') }, ticks: { stroke: colour('--grid') } };
  return {
    width,
    height: HEIGHT,
    cursor: { points: { size: 6 } },
    scales: { x: { time: x.unit === 'time', ...(hasBars ? { range: padded } : {}) }, y: hasBars ? { range: fromZero } : {} },
    axes: [
      { ...axis, label: named(x), ...(x.isWhole ? { incrs: WHOLE } : {}) },
      {
        ...axis,
        label: yUnit,
        size: room,
        ...(lines.every((line) => line.isWhole) ? { incrs: WHOLE } : {}),
        values: (_, ticks) => ticks.map((tick) => (lines.every((line) => line.unit === 'bytes') ? bytes(tick) : number(tick))),
      },
    ],
    series: [
      { label: named(x), value: (_, value) => (value === null ? '–' : x.unit === 'time' ? at(value * 1000) : number(value)) },
      ...lines.map((line, index): uPlot.Series => {
        const stroke = colour(COLOURS[index % COLOURS.length] ?? '--line-1');
        const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
        return {
          label: named(line),
          stroke,
          width: 2,
          spanGaps: false,
          points: { show: line.values.length < 40 && !line.isBar },
          value: (_, value) => number(value),
          ...(line.isBar && bars ? { paths: bars, fill: `${stroke}55` } : {}),
        };
      }),
    ],
  };
}

/** Returns the width of the y axis in pixels, which depends on its longest label. */
function room(_: uPlot, texts: string[] | null): number {
  return 18 + 8 * Math.max(4, ...(texts ?? []).map((text) => text.length));
}

/**
 * A chart with a table of its values. If there are no values, it shows the explanation `empty`. Set `isTitled` if the
 * surroundings already show the title.
 */
export function Chart({
  title,
  x,
  lines,
  yUnit,
  empty = 'There are no values yet.',
  isTitled = false,
}: {
  title: string;
  x: Axis;
  lines: Line[];
  yUnit: string;
  empty?: string;
  isTitled?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [colours, setColours] = useState(0);
  const data = useMemo(() => {
    const xs = x.unit === 'time' ? x.values.map((value) => (value ?? 0) / 1000) : x.values.map((value) => value ?? 0);
    return [xs, ...lines.map((line) => line.values)] as uPlot.AlignedData;
  }, [x, lines]);
  const shape = [title, x.label, x.unit, yUnit, ...lines.map((line) => named(line)), x.values.length < 40, colours].join('\n');
  useEffect(() => onTheme(() => setColours((count) => count + 1)), []);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(element.clientWidth || 600, x, lines, yUnit), data, element);
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [data]);
  const last = lines.map((line) => `${line.label}: ${number(line.values.findLast((value) => value !== null))}`).join('; ');
  return (
    <figure class="chart">
      <figcaption class={isTitled ? 'hidden' : ''}>{title}</figcaption>
      {lines.every((line) => line.values.every((value) => value === null)) && <p class="note">{empty}</p>}
      <div
        ref={box}
        role="img"
        aria-label={`${title}. ${x.values.length} points over ${named(x)}. Last: ${last}. The table below has all values.`}
      />
      <Values title={title} x={x} lines={lines} />
    </figure>
  );
}

/** Shows the values of the chart as a table, with empty cells for gaps. */
function Values({ title, x, lines }: { title: string; x: Axis; lines: Line[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Show as table</summary>
      {isOpen && (
        <div class="scroll" role="region" aria-label={`Values of ${title}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{named(x)}</th>
                {lines.map((line) => (
                  <th key={line.label} scope="col" class="number">
                    {named(line)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {x.values.map((value, index) => (
                <tr key={index}>
                  <td data-value={value}>{x.unit === 'time' && value !== null ? at(value) : value}</td>
                  {lines.map((line) => (
                    <td key={line.label} class="number">
                      {line.values[index] ?? ''}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
