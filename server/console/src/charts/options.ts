/** The settings of a chart for uPlot: axes, scales, series, and the link between the charts of a page. */

import uPlot from 'uplot';

import { at, bytes, number, percent } from '../format';

export interface Axis {
  label: string;
  /** `time` for timestamps in milliseconds, `share` for 0 to 1 shown in percent; otherwise the unit of the values. */
  unit: string;
  values: (number | null)[];
  /** Values are whole numbers, so the axis has no fractional ticks. */
  isWhole?: boolean;
  /** The value at which the task ends. The axis reaches it, and a dashed line marks it. */
  end?: number | undefined;
}

export interface Line extends Axis {
  /** Draws bars from zero instead of a line. */
  isBar?: boolean;
  /** The values as measured, drawn faintly behind their smoothed line. */
  isFaint?: boolean;
  /** Continues the line over gaps, where only other lines have values. */
  spansGaps?: boolean;
  /** The index of the line's colour, if it is not the index of the line. */
  colour?: number;
}

export const HEIGHT = 240;
const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 16 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);
const COLOURS = 6;
const DASH = [4, 4];

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The number of a line's colour in the style sheet, from 1. */
export function colourOf(line: Line, index: number): number {
  return ((line.colour ?? index) % COLOURS) + 1;
}

export function named(axis: Axis): string {
  if (axis.unit === 'share') return `${axis.label} (%)`;
  return axis.unit && axis.unit !== 'time' ? `${axis.label} (${axis.unit})` : axis.label;
}

/** Formats one value of an axis with its unit's habits. */
export function shown(axis: Axis, value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  switch (axis.unit) {
    case 'time':
      return at(value);
    case 'share':
      return percent(value);
    case 'bytes':
      return bytes(value);
    default:
      return number(value);
  }
}

/** Leaves room for half a bar at both ends. */
function padded(plot: uPlot, low: number, high: number): [number, number] {
  const xs = plot.data[0] ?? [];
  const step = xs.length > 1 ? ((xs.at(-1) ?? 0) - (xs[0] ?? 0)) / (xs.length - 1) : 1;
  return [low - step / 2, high + step / 2];
}

/** Shows the whole way to the end of the task, unless the user has zoomed in. */
function untilEnd(end: number) {
  return (plot: uPlot, low: number, high: number): [number, number] => {
    const last = plot.data[0]?.at(-1) ?? high;
    return [low, high >= last ? Math.max(end, high) : high];
  };
}

/** Returns the range of the y axis of a bar chart. It starts at zero, because a bar's length stands for its value. */
function fromZero(_: uPlot, __: number, high: number): [number, number] {
  return [0, high > 0 ? high * 1.05 : 1];
}

/** Returns the width of the y axis in pixels, which depends on its longest label. */
function room(_: uPlot, texts: string[] | null): number {
  return 18 + 7.5 * Math.max(4, ...(texts ?? []).map((text) => text.length));
}

function markEnd(end: number) {
  return (plot: uPlot) => {
    const left = Math.round(plot.valToPos(end, 'x', true));
    const { ctx, bbox } = plot;
    if (left < bbox.left || left > bbox.left + bbox.width) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour('--muted');
    ctx.setLineDash(DASH.map((length) => length * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    ctx.textAlign = 'right';
    ctx.fillText('end', left - 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
    ctx.restore();
  };
}

export interface Wishes {
  yUnit: string;
  isLog: boolean;
  /** Charts with the same key share the cursor and the zoom. */
  sync: string;
  moved: (index: number | null) => void;
  zoomed: (plot: uPlot) => void;
}

function scales(x: Axis, hasBars: boolean, isLog: boolean): uPlot.Scales {
  const range = hasBars ? { range: padded } : x.end === undefined ? {} : { range: untilEnd(x.end) };
  return { x: { time: x.unit === 'time', ...range }, y: hasBars ? { range: fromZero } : isLog ? { distr: 3 } : {} };
}

export function options(width: number, x: Axis, lines: Line[], wishes: Wishes): uPlot.Options {
  const hasBars = lines.some((line) => line.isBar);
  const isWhole = lines.every((line) => line.isWhole);
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { show: false }, font: '12px system-ui' };
  const [first] = lines;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: {
      points: { size: 7 },
      drag: { x: true, y: false, setScale: true },
      sync: { key: wishes.sync, setSeries: false, scales: ['x', null] },
    },
    hooks: {
      setCursor: [(plot) => wishes.moved(plot.cursor.idx ?? null)],
      setScale: [(plot, scale) => scale === 'x' && wishes.zoomed(plot)],
      draw: x.end === undefined ? [] : [markEnd(x.end)],
    },
    scales: scales(x, hasBars, wishes.isLog),
    axes: [
      {
        ...axis,
        label: named(x),
        labelFont: '12px system-ui',
        labelSize: 18,
        size: x.unit === 'time' ? 44 : 30,
        ...(x.isWhole ? { incrs: WHOLE } : {}),
      },
      {
        ...axis,
        label: wishes.yUnit,
        labelFont: '12px system-ui',
        size: room,
        ...(isWhole ? { incrs: WHOLE } : {}),
        values: (_, ticks) => ticks.map((tick) => (tick === null || !first ? '' : ticked(first, tick))),
      },
    ],
    series: [{}, ...lines.map(series)],
  };
}

/** Formats a tick. Percents have no decimals unless the axis shows a narrow range. */
function ticked(line: Line, tick: number): string {
  if (line.unit === 'share') return `${Number((100 * tick).toFixed(2))} %`;
  return line.unit === 'bytes' ? bytes(tick) : number(tick);
}

function series(line: Line, index: number): uPlot.Series {
  const stroke = colour(`--line-${colourOf(line, index)}`);
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  return {
    label: named(line),
    stroke: line.isFaint ? `${stroke}55` : stroke,
    width: line.isBar ? 0 : line.isFaint ? 1 : 2,
    spanGaps: line.spansGaps ?? false,
    points: { show: line.values.length < 40 && !line.isBar && !line.isFaint, size: 5 },
    ...(line.isBar && bars ? { paths: bars, fill: `${stroke}b0` } : {}),
  };
}

/** Returns whether a part of the data is outside the visible range of the x axis. */
export function isZoomed(plot: uPlot): boolean {
  const xs = plot.data[0] ?? [];
  const { min, max } = plot.scales['x'] ?? {};
  const [first, last] = [xs[0], xs.at(-1)];
  if (first === undefined || last === undefined || min === undefined || max === undefined || min === null || max === null) return false;
  const slack = (last - first) * 1e-6;
  return min > first + slack || max < last - slack;
}

/** Shows all data again, in every chart with this key. */
export function showAll(sync: string): void {
  for (const plot of uPlot.sync(sync).plots) {
    const xs = plot.data[0] ?? [];
    plot.setScale('x', { min: xs[0] ?? 0, max: xs.at(-1) ?? 1 });
  }
}
