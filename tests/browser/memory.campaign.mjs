/**
 * `cargo xtask campaign`: measures the memory of a page over many rounds. This takes too long to run for every change.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { worldOfTests } from './support/world.mjs';

const ROUNDS = 200;
/** The allowed growth of the page's memory over the last two thirds of the rounds, in bytes. */
const GROWTH_BYTES_MAX = 48 * 2 ** 20;

const world = worldOfTests();

test('memory does not grow over rounds', { timeout: 900_000 }, async () => {
  const page = await world.page({ waitSeconds: 10 });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: ROUNDS });
  // A single reading is unreliable, because it includes memory that the browser has not returned yet. So compare the
  // medians of five rounds.
  const bytesFrom = async (first) => {
    const sizes = [];
    for (let round = first; round < first + 5; round += 1) {
      await page.evaluate((round) => heard('round', round), round);
      sizes.push(await memoryBytes(page));
    }
    return sizes.sort((a, b) => a - b)[2];
  };
  const before = await bytesFrom(Math.ceil(ROUNDS / 3));
  const after = await bytesFrom(ROUNDS - 5);
  const [first, last] = [before, after].map((size) => (size / 2 ** 20).toFixed(1));
  console.log(`memory of the page: ${first} MiB after ${Math.ceil(ROUNDS / 3)} rounds, ${last} MiB after ${ROUNDS}`);
  assert.ok(after < before + GROWTH_BYTES_MAX, `${first} MiB became ${last} MiB`);
  await page.evaluate(() => client.forget());
  await page.close();
});

/** Collects garbage, and returns the memory of the browser's largest renderer process: the page with its worker. */
async function memoryBytes(page) {
  const collect = () => gc();
  await Promise.all([page, ...page.workers()].map((context) => context.evaluate(collect)));
  const browser = await world.browser.context.browser().newBrowserCDPSession();
  const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
  await browser.detach();
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  const sizes = await Promise.all(
    renderers.map(async ({ id }) => {
      const status = await readFile(`/proc/${id}/status`, 'utf8');
      return 1024 * Number(/VmRSS:\s+(\d+)/.exec(status)[1]);
    }),
  );
  return Math.max(...sizes);
}
