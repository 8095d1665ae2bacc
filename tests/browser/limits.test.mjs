/** A page sends and fetches no more in a day than its app allows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { reload, until, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** The bytes of the model's weights, and of an update of them. */
const WEIGHTS_BYTES = 4 * 4810;

const world = worldOfTests();

/** What is kept of the day. */
function dayOf(page) {
  return page.evaluate(async (name) => {
    const request = indexedDB.open(`folkmoot-${name}`);
    await new Promise((resolve) => (request.onsuccess = resolve));
    const get = request.result.transaction('state').objectStore('state').get('day_bytes');
    await new Promise((resolve) => (get.onsuccess = resolve));
    request.result.close();
    return get.result;
  }, page.options.name);
}

/** Bytes of the log, both ways, and what was fetched, by name. */
async function logged(page) {
  const log = await page.evaluate(() => client.log());
  const bytes = log.reduce((sum, entry) => sum + entry.bytesSent + entry.bytesReceived, 0);
  return { bytes, fetched: log.filter(({ action }) => action === 'fetched').map(({ detail }) => detail) };
}

test('what would pass the bytes of the day is declined, and the next day is waited for', OPTIONS, async () => {
  const page = await world.page({ limits: { bytesPerDay: 2 * WEIGHTS_BYTES } });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 3 });
  assert.equal((await page.evaluate(() => heard('aborted'))).reason, 'declined');
  const tomorrow = (Math.floor(Date.now() / DAY_MILLISECONDS) + 1) * DAY_MILLISECONDS;
  const waits = () => page.evaluate((tomorrow) => told.find(({ name, until }) => name === 'waiting' && until >= tomorrow) ?? null, tomorrow);
  const { until: wakes } = await until(waits);
  assert.ok(wakes <= tomorrow + 60 * 60 * 1000, `it waits until ${wakes}, long after ${tomorrow}`);
  assert.deepEqual((await logged(page)).fetched, ['plan'], 'neither the model nor the weights were fetched');
  assert.equal((await dayOf(page)).isSpent, true);

  // Who is stopped has no moment to wait for any more: it is the day that keeps the next session from asking.
  await page.evaluate(() => client.stop());
  const { bytes } = await logged(page);
  await reload(page);
  await page.evaluate(() => client.start());
  await until(waits);
  assert.equal((await logged(page)).bytes, bytes, 'a reload does not begin the day anew: nothing is asked for');
});

test('all that goes and comes is counted, and a compressed update for what it is', OPTIONS, async () => {
  // Enough for the model, the weights and an update of 4 bits, not for one of 32.
  const page = await world.page({ limits: { bytesPerDay: 3 * WEIGHTS_BYTES } });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1, compression: '[compression]\ncodec = "eden:4"' });
  await page.evaluate(() => heard('round'));
  await page.evaluate(() => client.stop());
  const [{ bytes: counted, isSpent }, { bytes }] = [await dayOf(page), await logged(page)];
  assert.equal(isSpent, false);
  // The log has the update as it went; the day has what was answered to it, too.
  assert.ok(counted >= bytes && counted < bytes + 1024, `${counted} were counted, ${bytes} are in the log`);
});

test('a limit that is none is refused', OPTIONS, async () => {
  const page = await world.page();
  const refused = await page.evaluate(async (options) => {
    client.close();
    const limits = { bytesPerDay: 0 };
    return Folkmoot.connect({ examples: { shape: [64] }, ...options, limits }).then(() => 'opened', (error) => [error.code, error.message]);
  }, page.options);
  assert.deepEqual(refused, ['bad_option', 'limits.bytesPerDay is 0: give a number of bytes, at least 1']);
});
