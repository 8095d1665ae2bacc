/**
 * Tests that a client does not disturb its page, that the user decides about training, and that `forget()` removes all
 * data.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { examples } from './support/digits.mjs';
import { watchSteps } from './support/steps.mjs';
import { rowCounts, sessionIs } from './support/storage.mjs';
import { until, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };
/** A training that runs until it is stopped. */
const ENDLESS = { plan: { epochs: 1_000_000 }, scheduling: { deadlineSeconds: 3600 }, rounds: 1 };

const world = worldOfTests();

async function forget(page) {
  await page.evaluate(() => client.forget());
  await page.close();
}

test('nothing starts before the user agreed', OPTIONS, async () => {
  const page = await world.page();
  await page.evaluate(() => client.consent.withdraw());
  const refused = await page.evaluate(() =>
    client.start().then(
      () => 'started',
      (error) => error.code,
    ),
  );
  assert.equal(refused, 'consent_needed');
  await page.evaluate(async () => {
    const { coordinator, enrolmentToken } = { coordinator: location.origin, enrolmentToken: 'none' };
    globalThis.other = await Folkmoot.connect({ coordinator, enrolmentToken, name: 'other', examples: { shape: [1] } });
  });
  assert.equal(await page.evaluate(() => other.consent.isGiven()), false);
  await page.evaluate(() => other.forget());
  await forget(page);
});

test('an app that does not agree declines, and says no more', OPTIONS, async () => {
  const page = await world.page();
  await page.evaluate(async (options) => {
    client.close();
    globalThis.offers = [];
    const askBefore = (offer) => {
      offers.push(offer);
      return false;
    };
    globalThis.client = await Folkmoot.connect({ examples: { shape: [64] }, waitSeconds: 5, ...options, askBefore });
    client.on('aborted', (value) => tell('aborted', value));
    await client.start();
  }, page.options);
  await world.coordinator.task({ rounds: 1 });
  const aborted = await page.evaluate(() => heard('aborted'));
  assert.deepEqual([aborted.reason, aborted.detail], ['declined', '']);
  const [offer] = await page.evaluate(() => offers);
  assert.equal(offer.plan.training.loss, 'softmax_cross_entropy');
  assert.equal(offer.roundNumber, 1);
  await forget(page);
});

test('an app is asked for each assignment, and one that fails has not agreed', OPTIONS, async () => {
  const page = await world.page();
  await page.evaluate(async (options) => {
    client.close();
    globalThis.offers = [];
    const askBefore = async (offer) => {
      offers.push(offer);
      if (offers.length > 1) {
        throw new Error('the app fails while it is asked');
      }
      return true;
    };
    globalThis.client = await Folkmoot.connect({ examples: { shape: [64] }, waitSeconds: 5, ...options, askBefore });
    for (const name of ['round', 'aborted']) {
      client.on(name, (value) => tell(name, value));
    }
    await client.start();
  }, page.options);
  await world.coordinator.task({ rounds: 2 });
  assert.equal((await page.evaluate(() => heard('round'))).roundNumber, 1);
  assert.equal((await page.evaluate(() => heard('aborted'))).reason, 'declined');
  const asked = await page.evaluate(() => offers.slice(0, 2).map(({ roundNumber }) => roundNumber));
  assert.deepEqual(asked, [1, 2], 'the second round was asked for, too');
  assert.equal(await page.evaluate(() => told.filter(({ name }) => name === 'round').length), 1, 'and not trained');
  await forget(page);
});

test('a training lets the page in between its steps, and takes none while it is paused', OPTIONS, async () => {
  const page = await world.page();
  const steps = await watchSteps(page);
  const answers = (count) =>
    page.evaluate(async (count) => {
      for (let time = 0; time < count; time += 1) {
        await client.examples.count();
      }
    }, count);
  await page.evaluate(() => client.start());
  await world.coordinator.task(ENDLESS, 'cnn.onnx');
  await page.evaluate(() => heard('training'));
  for (let pause = 0; pause < 3; pause += 1) {
    await answers(3);
    await page.evaluate((pause) => {
      client.pause();
      return heard('paused', pause);
    }, pause);
    // If the training were still running, these answers would take longer: its steps would run between them.
    await answers(20);
    await page.evaluate((pause) => {
      const trained = told.filter(({ name }) => name === 'training').length;
      client.resume();
      return Promise.all([heard('resumed', pause), heard('training', trained)]);
    }, pause);
  }
  await page.evaluate(() => client.stop());
  const journal = await steps.journal();
  const places = (name) => journal.flatMap((entry, index) => (entry === name ? [index] : []));
  const [pauses, ends] = [places('paused'), places('resumed')];
  assert.deepEqual([pauses.length, ends.length], [3, 3]);
  const before = journal.slice(journal.indexOf('chunk'), pauses[0]);
  assert.ok(before.includes('answer'), 'the page is answered in the middle of the training');
  for (const [index, end] of ends.entries()) {
    const pause = journal.slice(pauses[index], end);
    assert.equal(pause.filter((entry) => entry === 'answer').length, 20, 'the worker is free during a pause');
    assert.ok(!pause.includes('chunk'), 'and begins no step');
    assert.ok(journal.slice(end, pauses[index + 1]).includes('chunk'), 'after it the training goes on');
  }
  await forget(page);
});

test('one of several tabs trains, and another takes over', OPTIONS, async () => {
  const first = await world.page({ name: 'shared' });
  await first.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1 });
  await first.evaluate(() => heard('round'));
  const second = await world.page({ name: 'shared', count: 0 });
  await second.evaluate(() => client.start());
  await second.evaluate(() => heard('standby'));
  assert.equal(await second.evaluate(() => client.examples.count()), 200, 'both tabs are one client');
  await first.close();
  await world.coordinator.task({ rounds: 1 });
  await second.evaluate(() => heard('round'));
  await forget(second);
});

test('what an example lacks is said', OPTIONS, async () => {
  const page = await world.page();
  const add = (example) =>
    page.evaluate(
      (example) =>
        client.examples.add(example).then(
          () => 'added',
          (error) => error.message,
        ),
      example,
    );
  assert.match(await add({ features: Array(64).fill(0) }), /^example 0 has no label/);
  assert.match(await add({ label: 1 }), /^example 0 has no features/);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('forget() leaves no key, example or state', OPTIONS, async () => {
  const page = await world.page();
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1 });
  await page.evaluate(() => heard('round'));
  assert.equal((await page.evaluate(() => indexedDB.databases())).length, 1);
  const key = await page.evaluate(async (name) => {
    const request = indexedDB.open(`folkmoot-${name}`);
    await new Promise((resolve) => (request.onsuccess = resolve));
    const get = request.result.transaction('state').objectStore('state').get('key');
    await new Promise((resolve) => (get.onsuccess = resolve));
    request.result.close();
    const { privateKey } = get.result;
    const taken = await crypto.subtle.exportKey('pkcs8', privateKey).then(
      () => 'taken',
      () => 'refused',
    );
    return { extractable: privateKey.extractable, taken };
  }, page.options.name);
  assert.deepEqual(key, { extractable: false, taken: 'refused' });
  await page.evaluate(() => client.forget());
  const left = await page.evaluate(async () => ({
    databases: await indexedDB.databases(),
    locks: (await navigator.locks.query()).held,
    local: localStorage.length + sessionStorage.length,
    caches: await caches.keys(),
    cookies: document.cookie,
  }));
  assert.deepEqual(left, { databases: [], locks: [], local: 0, caches: [], cookies: '' });
  const refused = await page.evaluate(() =>
    client.examples.count().then(
      () => 'there',
      (error) => error.code,
    ),
  );
  assert.equal(refused, 'forgotten');
  await page.close();
});

test('a client that rests between rounds stops and forgets', OPTIONS, async () => {
  const page = await world.page();
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1 });
  await page.evaluate(() => heard('round'));
  // The session has finished its round when it waits for the next one.
  await sessionIs(page, 'checked_in', 'idle');
  await page.evaluate(() => client.pause());
  await page.evaluate(() => heard('paused'));
  await sessionIs(page, 'stopped');
  await page.evaluate(() => client.forget());
  assert.equal((await page.evaluate(() => heard('stopped'))).reason, 'requested');
  await page.close();
});

/** Counts the stored objects that were derived from examples. */
async function madeOf(page) {
  const { memories, work } = await rowCounts(page);
  return [memories, work];
}

test('without examples or consent no memory of them stays', OPTIONS, async () => {
  const page = await world.page();
  const task = { rounds: 1, settings: '[compression]\ncodec = "top_k:0.05"' };
  const remembered = () => until(async () => ((await madeOf(page))[0] === 1 ? true : null));
  await page.evaluate(() => client.start());
  await world.coordinator.task(task);
  await page.evaluate(() => heard('round'));
  await remembered();
  await page.evaluate(() => client.examples.clear());
  assert.deepEqual(await madeOf(page), [0, 0]);
  await page.evaluate((examples) => client.examples.add(examples), examples(0, 200));
  await world.coordinator.task(task);
  await page.evaluate(() => heard('round', 1));
  await remembered();
  await page.evaluate(() => client.consent.withdraw());
  assert.deepEqual(await madeOf(page), [0, 0]);
  await forget(page);
});

test('consent that is withdrawn in one tab stops the other', OPTIONS, async () => {
  const first = await world.page({ name: 'withdrawn' });
  await first.evaluate(() => client.start());
  await world.coordinator.task(ENDLESS, 'cnn.onnx');
  await first.evaluate(() => heard('training'));
  const second = await world.page({ name: 'withdrawn', count: 0 });
  await second.evaluate(() => client.consent.withdraw());
  // The client must stop in the middle of its training, before it would ask for consent again.
  assert.equal((await first.evaluate(() => heard('stopped'))).reason, 'requested');
  await until(async () => ((await madeOf(first)).every((count) => count === 0) ? true : null));
  assert.equal(
    await first.evaluate(() =>
      client.start().then(
        () => 'started',
        (error) => error.code,
      ),
    ),
    'consent_needed',
  );
  await forget(second);
});

test('a round leaves nothing behind that the first one did not', OPTIONS, async () => {
  // Each round is a separate task, so that all rounds need the same blobs.
  const page = await world.page();
  const objects = await watchObjects(page);
  await page.evaluate(() => client.start());
  const left = [];
  for (let round = 0; round < 4; round += 1) {
    await world.coordinator.task({ rounds: 1 });
    await page.evaluate((round) => heard('round', round), round);
    await sessionIs(page, 'checked_in', 'idle');
    // The log keeps a record of each upload, so its size may grow.
    const { log, ...rows } = await rowCounts(page);
    left.push({ workers: page.workers().length, objects: await objects(), rows });
  }
  assert.deepEqual(left[0].rows, { blobs: 3, examples: 200, memories: 0, state: 7, work: 0 });
  assert.equal(left[0].workers, 1);
  assert.deepEqual(left, Array(4).fill(left[0]));
  await forget(page);
});

/** Counts the engine's objects that a page's worker creates from now on and has not freed. */
async function watchObjects(page) {
  const [worker] = page.workers();
  await worker.evaluate(() => {
    // Each object is registered while it exists.
    const { register, unregister } = FinalizationRegistry.prototype;
    globalThis.objects = 0;
    FinalizationRegistry.prototype.register = function (...given) {
      objects += 1;
      return register.apply(this, given);
    };
    FinalizationRegistry.prototype.unregister = function (token) {
      const wasThere = unregister.call(this, token);
      objects -= wasThere ? 1 : 0;
      return wasThere;
    };
  });
  return () => worker.evaluate(() => objects);
}
