/** The digits of `examples/digits`, as lines of text and as examples. */

import { readFileSync } from 'node:fs';

import { root } from './paths.mjs';

export const lines = readFileSync(`${root}examples/digits/digits.csv`, 'utf8').trim().split('\n');

/** Returns the digits of these lines in the format of a page's client. */
export function examples(from, to) {
  return lines.slice(from, to).map((line) => {
    const numbers = line.split(',').map(Number);
    return { features: numbers.slice(0, 64), label: numbers[64] };
  });
}
