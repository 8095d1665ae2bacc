/** Saves a chart as a picture or as a table. The browser makes both; nothing is uploaded. */

import { type Axis, colour, colourOf, type Line, named } from './options';

const LINE_HEIGHT = 20;
const INSET = 12;

function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function fileName(title: string, extension: string): string {
  return `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.${extension}`;
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The chart's values as comma-separated text, with times as ISO 8601 in UTC. Gaps are empty. */
export function csv(x: Axis, lines: Line[]): string {
  const head = [x, ...lines].map((axis) => cell(axis.unit === 'share' ? `${axis.label} (share)` : named(axis)));
  const rows = x.values.map((value, index) => [
    x.unit === 'time' && value !== null ? new Date(value).toISOString() : String(value ?? ''),
    ...lines.map((line) => String(line.values[index] ?? '')),
  ]);
  return [head, ...rows].map((row) => `${row.join(',')}\r\n`).join('');
}

export function saveCsv(title: string, x: Axis, lines: Line[]): void {
  download(new Blob([csv(x, lines)], { type: 'text/csv' }), fileName(title, 'csv'));
}

/** Saves the chart as it is drawn now, with its title and the names of its lines. */
export function savePng(title: string, drawn: HTMLCanvasElement, lines: Line[]): void {
  const scale = devicePixelRatio;
  const line = LINE_HEIGHT * scale;
  const inset = INSET * scale;
  const canvas = document.createElement('canvas');
  canvas.width = drawn.width + 2 * inset;
  canvas.height = drawn.height + (lines.length + 1) * line + 2 * inset;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.fillStyle = colour('--card');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = colour('--text');
  context.textBaseline = 'top';
  context.font = `600 ${14 * scale}px system-ui`;
  context.fillText(title, inset, inset);
  context.drawImage(drawn, inset, inset + line);
  context.font = `${12 * scale}px system-ui`;
  lines.forEach((one, index) => {
    const top = inset + line + drawn.height + index * line;
    context.fillStyle = colour(`--line-${colourOf(one, index)}`);
    context.fillRect(inset, top + 6 * scale, 14 * scale, 3 * scale);
    context.fillStyle = colour('--text');
    context.fillText(named(one), inset + 20 * scale, top);
  });
  canvas.toBlob((blob) => blob && download(blob, fileName(title, 'png')), 'image/png');
}
