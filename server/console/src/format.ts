/** Formats numbers and times for people. The tables beside the charts have the exact values. */

import { isShare } from './insight/learning';

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function count(value: number): string {
  return whole.format(value);
}

export function number(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(2) : short.format(value);
}

export function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : `${(100 * value).toFixed(1)} %`;
}

/** Formats a metric: shares in percent, everything else as a number. */
export function measure(metric: string, value: number | null | undefined): string {
  return isShare(metric) ? percent(value) : number(value);
}

/** Formats a change of a metric with its sign, for example `+1.2 points`. */
export function points(metric: string, change: number): string {
  const sign = change >= 0 ? '+' : '−';
  const size = Math.abs(change);
  return isShare(metric) ? `${sign}${(100 * size).toFixed(1)} points` : `${sign}${number(size)}`;
}

const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  const power = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), BYTES.length - 1);
  return power === 0 ? `${value} B` : `${short.format(value / 1000 ** power)} ${BYTES[power]}`;
}

export function flops(value: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), 4);
  return `${short.format(value / 1000 ** power)} ${['', 'k', 'M', 'G', 'T'][power]}FLOP`;
}

/** A time in the viewer's time zone. */
export function at(milliseconds: number): string {
  return moment.format(milliseconds);
}

/** A future time: without its date if it is less than a day away. */
export function soon(milliseconds: number, now: number): string {
  return milliseconds - now < 86_400_000 ? clock.format(milliseconds) : at(milliseconds);
}

export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 1) return `${Math.round(milliseconds)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** The time since or until a moment in words, for example `3 min ago` or `in 2 h`. The tooltip has the absolute time. */
export function relative(milliseconds: number, now: number): string {
  const away = Math.abs(milliseconds - now);
  const length = away < 10_000 ? 'a few s' : duration(Math.round(away / 1000) * 1000);
  return milliseconds <= now ? `${length} ago` : `in ${length}`;
}

/** Shows the start of an id or digest. The tooltip shows the whole text. */
export function brief(id: string): string {
  return id.length > 12 ? `${id.slice(0, 8)}…` : id;
}

export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Parses a number from an input. Commas are rejected, because `1,000` means a thousand in some languages and one in
 * others.
 */
export function typed(name: string, text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw new Error(`${name} is “${text}”, which is not a number. Write a number such as 0.5, 100 or 1e-5.`);
  return value;
}

/** Formats a count, or `hidden` if the task must not reveal it because its privacy depends on hiding who was drawn. */
export function told(value: number | null | undefined, show: (value: number) => string = count): string {
  return value === null || value === undefined ? 'hidden' : show(value);
}

/** Returns the sum of counts; `null` if one of the counts is hidden. */
export function sumOfTold(values: readonly (number | null | undefined)[]): number | null {
  return values.reduce<number | null>((sum, value) => (sum === null || value === null || value === undefined ? null : sum + value), 0);
}
