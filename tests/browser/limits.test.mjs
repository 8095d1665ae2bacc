/** Tests that a client in a page transfers no more bytes per day than its app allows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { stored } from './support/storage.mjs';
import { reload, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };
const HOUR_MILLISECONDS = 60 * 60 * 1000;
/**
 * A day begins at midnight UTC. The tests start at noon, so that a new day begins only when a test changes the clock.
 */
const NOON = Date.UTC(2030, 0, 15, 12);
const MIDNIGHT = NOON + 12 * HOUR_MILLISECONDS;
/** The size in bytes of the model's weights, which is also the size of an uncompressed update. */
const WEIGHTS_BYTES = 4 * 4810;

const world = worldOfTests();

/** Sets the clock of a page's client before the client starts. From then on, the clock runs normally. */
async function setClock(page, moment) {
  await page
    .workers()
    .at(-1)
    .evaluate((moment) => {
      const now = Date.now;
      const offset = moment - now();
      Date.now = () => now() + offset;
    }, moment);
}

/** Returns the number of bytes in the log, in both directions, and the names of the fetched objects. */
async function logged(page) {
  const log = await page.evaluate(() => client.log());
  const bytes = log.reduce((sum, entry) => sum + entry.bytesSent + entry.bytesReceived, 0);
  return { bytes, fetched: log.filter(({ action }) => action === 'fetched').map(({ detail }) => detail) };
}

test('what would pass the bytes of the day is declined, and the next day is waited for', OPTIONS, async () => {
  const page = await world.page({ limits: { bytesPerDay: 2 * WEIGHTS_BYTES } });
  await setClock(page, NOON);
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 3 });
  assert.equal((await page.evaluate(() => heard('aborted'))).reason, 'declined');
  const waits = () => page.evaluate((midnight) => heardWhere(({ name, until }) => name === 'waiting' && until >= midnight), MIDNIGHT);
  const { until: wakes } = await waits();
  assert.ok(wakes <= MIDNIGHT + HOUR_MILLISECONDS, `it waits until ${wakes}, long after ${MIDNIGHT}`);
  assert.deepEqual((await logged(page)).fetched, ['plan'], 'neither the model nor the weights were fetched');
  assert.equal((await stored(page, 'state', 'day_bytes')).isSpent, true);

  // `stop()` removes the wake-up time. So only the day's limit keeps the next session from sending requests.
  await page.evaluate(() => client.stop());
  const { bytes } = await logged(page);
  await reload(page);
  await setClock(page, NOON);
  await page.evaluate(() => client.start());
  await waits();
  assert.equal((await logged(page)).bytes, bytes, 'a reload does not begin the day again: nothing is asked for');

  await page.evaluate(() => client.stop());
  await reload(page);
  await setClock(page, NOON + 24 * HOUR_MILLISECONDS);
  await page.evaluate(() => client.start());
  // On the new day, the client checks in again and declines its assignment, as on the day before.
  await page.evaluate(() => heard('aborted'));
  assert.ok((await logged(page)).bytes > bytes, 'the next day begins from zero');
});

test('all that goes and comes is counted, and a compressed update for what it is', OPTIONS, async () => {
  // The limit is enough for the model, the weights and a 4-bit update, but not for a 32-bit update.
  const page = await world.page({ limits: { bytesPerDay: 3 * WEIGHTS_BYTES } });
  await setClock(page, NOON);
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1, settings: '[compression]\ncodec = "eden:4"' });
  await page.evaluate(() => heard('round'));
  await page.evaluate(() => client.stop());
  const [{ bytes: counted, isSpent }, { bytes }] = [await stored(page, 'state', 'day_bytes'), await logged(page)];
  assert.equal(isSpent, false);
  // The log has the bytes of the update that were sent; the day's total also includes the response.
  assert.ok(counted >= bytes && counted < bytes + 1024, `${counted} were counted, ${bytes} are in the log`);
});

test('a cohort that is too small is declined, and the user alone can read why', OPTIONS, async () => {
  const page = await world.page({ limits: { cohortMin: 1000 } });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1 });
  const { reason, detail } = await page.evaluate(() => heard('aborted'));
  assert.deepEqual([reason, detail], ['declined', '']);
  const log = await page.evaluate(() => client.log());
  const [declined] = log.filter(({ action }) => action === 'declined');
  assert.match(declined.detail, /^cohort_min is 1000; a version of this task may combine the updates of only \d+ clients$/);
  assert.deepEqual((await logged(page)).fetched, ['plan'], 'neither the model nor the weights were fetched');
});

test('a limit that is none is refused', OPTIONS, async () => {
  const page = await world.page();
  const refused = await page.evaluate(async (options) => {
    client.close();
    const limits = { bytesPerDay: 0 };
    return Folkmoot.connect({ examples: { shape: [64] }, ...options, limits }).then(
      () => 'opened',
      (error) => [error.code, error.message],
    );
  }, page.options);
  assert.deepEqual(refused, ['bad_option', 'limits.bytesPerDay is 0; it must be at least 1']);
});
