/** Line and bar charts over one axis. Each has a legend, its values in a table, and buttons that save it. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

import { onTheme } from '../theme';
import { type Axis, colourOf, HEIGHT, isZoomed, type Line, named, options, showAll, shown } from './options';
import { saveCsv, savePng } from './save';
import { type Smoothing, smoothed } from './smooth';

export type { Axis, Line } from './options';

type Props = {
  title: string;
  x: Axis;
  lines: Line[];
  yUnit: string;
  /** The explanation that is shown if there are no values. */
  empty?: string;
  /** The surroundings already show the title. */
  isTitled?: boolean;
  smoothing?: Smoothing;
  /** Draws the y axis logarithmically, if all values are positive. */
  isLog?: boolean;
};

/** A chart. Charts with the same x axis share the cursor and the zoom. */
export function Chart({
  title,
  x,
  lines,
  yUnit,
  empty = 'There are no values yet.',
  isTitled = false,
  smoothing = 'off',
  isLog = false,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const point = useRef<(index: number | null) => void>(() => {});
  const [colours, setColours] = useState(0);
  const [isClose, setClose] = useState(false);
  const drawn = useMemo(() => smoothed(lines, smoothing), [lines, smoothing]);
  const canLog = isLog && lines.every((line) => !line.isBar && line.values.every((value) => value === null || value > 0));
  const data = useMemo(() => {
    const xs = x.values.map((value) => (x.unit === 'time' ? (value ?? 0) / 1000 : (value ?? 0)));
    return [xs, ...drawn.map((line) => line.values)] as uPlot.AlignedData;
  }, [x, drawn]);
  const names = drawn.map((line) => named(line));
  const hasNone = lines.every((line) => line.values.every((value) => value === null));
  const shape = [hasNone, title, x.label, x.unit, x.end, yUnit, ...names, x.values.length < 40, colours, canLog].join('\n');
  useEffect(() => onTheme(() => setColours((count) => count + 1)), []);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const wishes = {
      yUnit,
      isLog: canLog,
      sync: x.label,
      moved: (index: number | null) => point.current(index),
      zoomed: (plot: uPlot) => setClose(isZoomed(plot)),
    };
    const made = new uPlot(options(element.clientWidth || 600, x, drawn, wishes), data, element);
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    const made = plot.current;
    if (!made || made.data === data) return;
    const { min, max } = made.scales['x'] ?? {};
    const isHeld = isZoomed(made) && typeof min === 'number' && typeof max === 'number';
    made.batch(() => {
      made.setData(data, !isHeld);
      if (isHeld) made.setScale('x', { min, max });
    });
  }, [data]);
  const last = lines
    .map(
      (line) =>
        `${line.label}: ${shown(
          line,
          line.values.findLast((value) => value !== null),
        )}`,
    )
    .join('; ');
  if (hasNone)
    return (
      <figure class="chart">
        <figcaption class={isTitled ? 'hidden' : ''}>{title}</figcaption>
        <p class="note">{empty}</p>
      </figure>
    );
  return (
    <figure class="chart">
      <figcaption class={isTitled ? 'hidden' : ''}>{title}</figcaption>
      <div
        ref={box}
        role="img"
        aria-label={`${title}. ${x.values.length} points over ${named(x)}. Last: ${last}. The table below has all values.`}
      />
      <Legend x={x} lines={drawn} point={point} />
      <div class="chart-foot">
        <Values title={title} x={x} lines={lines} />
        {isClose && (
          <button type="button" class="quiet" onClick={() => showAll(x.label)}>
            Show all
          </button>
        )}
        <button type="button" class="quiet" aria-label={`Save ${title} as CSV`} onClick={() => saveCsv(title, x, lines)}>
          CSV
        </button>
        <button
          type="button"
          class="quiet"
          aria-label={`Save ${title} as PNG`}
          onClick={() => plot.current && savePng(title, plot.current.ctx.canvas, drawn)}
        >
          PNG
        </button>
      </div>
    </figure>
  );
}

/** The names of the lines, with the values under the cursor, or the last ones. */
function Legend({ x, lines, point }: { x: Axis; lines: Line[]; point: { current: (index: number | null) => void } }) {
  const [at, setAt] = useState<number | null>(null);
  point.current = setAt;
  const value = (axis: Axis) => (at === null ? axis.values.findLast((value) => value !== null) : axis.values[at]);
  return (
    <ul class="legend">
      {lines.map(
        (line, index) =>
          !line.isFaint && (
            <li key={line.label}>
              <span class={`swatch line-${colourOf(line, index)}`} aria-hidden="true" />
              {line.label} <b>{shown(line, value(line))}</b>
            </li>
          ),
      )}
      <li class="legend-at">
        {at === null ? 'newest' : x.label} {at !== null && <b>{shown(x, value(x))}</b>}
      </li>
    </ul>
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
                  <td data-value={value}>{x.unit === 'time' ? shown(x, value) : value}</td>
                  {lines.map((line) => (
                    <Cell key={line.label} line={line} value={line.values[index] ?? null} />
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

/** One value: shares in percent, everything else exactly as the API gave it. */
function Cell({ line, value }: { line: Line; value: number | null }) {
  if (value === null) return <td class="number" />;
  return (
    <td class="number" data-value={value}>
      {line.unit === 'share' ? shown(line, value) : value}
    </td>
  );
}
