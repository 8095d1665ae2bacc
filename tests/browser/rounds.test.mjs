/** Tests a page that trains together with native clients. The page's origin differs from the coordinator's. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lines } from './support/digits.mjs';
import { stored } from './support/storage.mjs';
import { reload, until, worldOfTests } from './support/world.mjs';

const world = worldOfTests();

test('a page and native clients make one round, and it commits', { timeout: 120_000 }, async () => {
  const { coordinator } = world;
  const token = await coordinator.token();
  const natives = [];
  try {
    for (const index of [0, 1]) {
      const digits = lines.slice(200 * index, 200 * (index + 1));
      natives.push(coordinator.nativeClient(token, `native-${index}`, digits));
    }
    const page = await world.page();
    const task = await coordinator.task({ scheduling: { reportGoal: 3 }, rounds: 2 });
    await page.evaluate(() => client.start());
    const first = await page.evaluate(() => heard('round'));
    assert.equal(first.roundNumber, 1);
    assert.ok(first.report.uploadBytes > 0 && first.report.downloadBytes > 0);
    await page.evaluate(() => heard('round', 1));
    for (const round of await coordinator.committed(task.id, 2)) {
      assert.equal(round.accepted, 3, 'the page and both natives are in it');
    }
    await page.evaluate(() => client.forget());
    await page.close();
  } finally {
    await Promise.all(natives.map((native) => native.end()));
  }
});

test('updates and versions travel compressed where the task says so', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const compression = '[compression]\ncodec = "top_k:0.05"\n[downstream]';
  const page = await world.page();
  await page.evaluate(() => client.start());
  const task = await coordinator.task({ settings: compression, rounds: 2 });
  const reports = [];
  for (const round of [0, 1]) {
    reports.push(await page.evaluate((round) => heard('round', round), round));
  }
  assert.ok(reports[0].report.uploadBytes < 4000, `${reports[0].report.uploadBytes} bytes, float32 would be 19,352`);
  const [first, second] = reports.map(({ report }) => report.downloadBytes);
  assert.ok(second > 0 && second < 4000, `${second} bytes of what the first round changed, float32 would be 19,240`);
  assert.ok(first > second, `${first} bytes before, with plan and model`);
  await coordinator.committed(task.id, 2);
  const outputs = await page.evaluate(async () => (await client.predict(new Float32Array(64))).outputs.length);
  assert.equal(outputs, 10, 'with the sum of the parts');
  await page.evaluate(() => client.forget());
  await page.close();
});

test('a model that the small module does not read is trained and predicts in the complete one', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page();
  await page.evaluate(() => client.start());
  const small = await coordinator.task({ rounds: 1 });
  await page.evaluate(() => heard('round'));
  await coordinator.committed(small.id, 1);
  const task = await coordinator.task({ rounds: 2 }, '../../tests/engine/exported/scaled_digits.onnx');
  await page.evaluate(() => heard('round', 2));
  await coordinator.committed(task.id, 2);
  const outputs = await page.evaluate(async () => (await client.predict(new Float32Array(64))).outputs.length);
  assert.equal(outputs, 10);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('personal layers stay in the page, survive a reload and are used to predict', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page({ count: 400 });
  const task = await coordinator.task({ plan: { epochs: 20, personal: ['layer_2.*'] }, rounds: 2 });
  await page.evaluate(() => client.start());
  const { report } = await page.evaluate(() => heard('round'));
  // The first layer has 4,160 values, both have 4,810.
  assert.ok(report.uploadBytes > 16_640 && report.uploadBytes < 19_240, `${report.uploadBytes} bytes`);
  const key = `${task.id}.personal`;
  const first = await until(async () => (await stored(page, 'memories', key)) ?? null);
  await reload(page);
  await page.evaluate(() => client.start());
  await coordinator.committed(task.id, 2);
  await until(async () => ((await stored(page, 'memories', key)).at > first.at ? true : null));
  const features = lines.slice(600, 800).flatMap((line) => line.split(',').slice(0, 64).map(Number));
  const labels = lines.slice(600, 800).map((line) => Number(line.split(',')[64]));
  const outputs = await page.evaluate(async (features) => Array.from((await client.predict(features)).outputs), features);
  const right = labels.filter((label, index) => {
    const scores = outputs.slice(10 * index, 10 * (index + 1));
    return scores.indexOf(Math.max(...scores)) === label;
  });
  assert.ok(right.length > 150, `${right.length} of 200, with a head that the coordinator never had`);
  await page.evaluate(() => client.consent.withdraw());
  assert.equal(await stored(page, 'memories', key), undefined);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('a control variate and a model of its own are kept across a reload, and deleted with consent', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page({ count: 400 });
  const ditto = '[plan.personal_training]\nditto = { lambda = 0.1, epochs = 20 }';
  const settings = `[aggregator]\nkind = "uniform_mean"\n[finalizer]\nkind = "scaffold"\nclients = 2\n${ditto}`;
  const task = await coordinator.task({ plan: { epochs: 20, stepsMax: 20 }, rounds: 3, settings });
  await page.evaluate(() => client.start());
  const key = `${task.id}.personal`;
  const first = await until(async () => (await stored(page, 'memories', key)) ?? null);
  await reload(page);
  await page.evaluate(() => client.start());
  await coordinator.committed(task.id, 3);
  const last = await until(async () => {
    const kept = await stored(page, 'memories', key);
    return kept.at > first.at ? kept : null;
  });
  // Both have 4,810 values. A digest and the version of the form precede them.
  const lengths = [first, last].map(({ bytes }) => Object.keys(bytes).length);
  assert.deepEqual(lengths, [40 + 8 * 4810, 40 + 8 * 4810]);
  const log = await page.evaluate(() => client.log());
  const fetched = log.filter(({ action }) => action === 'fetched').map(({ bytesReceived }) => bytesReceived);
  assert.ok(fetched.filter((bytes) => bytes > 19_000).length >= 4, `weights and control variates: ${fetched}`);
  await page.evaluate(() => client.consent.withdraw());
  assert.equal(await stored(page, 'memories', key), undefined);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('a page finds features inside of a model, and keeps its last one to contrast the next with', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page({ count: 400 });
  const task = await coordinator.task({ rounds: 2, settings: '[plan.model_contrast]\nfeatures = "activated"' });
  await page.evaluate(() => client.start());
  await coordinator.committed(task.id, 2);
  const key = `${task.id}.personal`;
  const kept = await until(async () => (await stored(page, 'memories', key)) ?? null);
  assert.equal(Object.keys(kept.bytes).length, 40 + 4 * 4810);
  await page.evaluate(() => client.consent.withdraw());
  assert.equal(await stored(page, 'memories', key), undefined);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('a page trains the cluster that fits it, keeps its number and predicts with its model', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page({ count: 400 });
  const settings = '[aggregator]\nkind = "weighted_mean"\n[plan.clusters]\ncount = 2';
  const task = await coordinator.task({ plan: { epochs: 20 }, rounds: 2, settings });
  await page.evaluate(() => client.start());
  const { report } = await page.evaluate(() => heard('round'));
  assert.ok(report.uploadBytes > 2 * 19_240, `${report.uploadBytes} bytes: both clusters travel`);
  const kept = await until(async () => (await stored(page, 'memories', `${task.id}.personal`)) ?? null);
  // The form, a digest, and the number of the cluster.
  assert.equal(Object.keys(kept.bytes).length, 8 + 32 + 8);
  await coordinator.committed(task.id, 2);
  await page.evaluate(() => heard('model', 1));
  const features = lines.slice(600, 800).flatMap((line) => line.split(',').slice(0, 64).map(Number));
  const labels = lines.slice(600, 800).map((line) => Number(line.split(',')[64]));
  const outputs = await page.evaluate(async (features) => Array.from((await client.predict(features)).outputs), features);
  const right = labels.filter((label, index) => {
    const scores = outputs.slice(10 * index, 10 * (index + 1));
    return scores.indexOf(Math.max(...scores)) === label;
  });
  assert.ok(right.length > 150, `${right.length} of 200`);
  await page.evaluate(() => client.forget());
  await page.close();
});

// Training the whole model needs some 85 kB with these batches, and half of its width some 50 kB.
const little = { limits: { memoryBytesMax: 65_000 } };

test('a page without memory for a model does not train it', { timeout: 60_000 }, async () => {
  const page = await world.page(little);
  await page.evaluate(() => client.start());
  await world.coordinator.task({ rounds: 1 });
  const { reason, detail } = await page.evaluate(() => heard('aborted'));
  assert.equal(reason, 'plan_unsupported');
  assert.match(detail, /but the plan allows 65000/);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('a page without memory for a model trains a narrower one', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page(little);
  const settings = '[aggregator]\nkind = "weighted_mean"\n[plan.widths]\nratios = [1.0, 0.5]';
  const task = await coordinator.task({ rounds: 2, settings });
  await page.evaluate(() => client.start());
  await page.evaluate(() => heard('round'));
  await coordinator.committed(task.id, 2);
  await page.evaluate(() => client.forget());
  await page.close();
});

test('the newest model predicts, and the log says what left the device', { timeout: 60_000 }, async () => {
  const { coordinator } = world;
  const page = await world.page({ count: 600 });
  await page.evaluate(() => client.start());
  await coordinator.task({ plan: { epochs: 20 }, rounds: 3 });
  await page.evaluate(() => heard('round'));
  // The next check-in offers the weights of the new version.
  await page.evaluate(() => heard('model', 1));
  const [features, labels] = [lines.slice(600, 800), lines.slice(600, 800)].map((part, kind) =>
    part.flatMap((line) => (kind === 0 ? line.split(',').slice(0, 64) : line.split(',').slice(64)).map(Number)),
  );
  const outputs = await page.evaluate(async (features) => Array.from((await client.predict(features)).outputs), features);
  const right = labels.filter((label, index) => {
    const scores = outputs.slice(10 * index, 10 * (index + 1));
    return scores.indexOf(Math.max(...scores)) === label;
  });
  assert.ok(right.length > 150, `${right.length} of 200`);
  const log = await page.evaluate(() => client.log());
  const actions = new Set(log.map((entry) => entry.action));
  for (const action of ['consent', 'enrolled', 'asked', 'fetched', 'trained', 'sent', 'reported']) {
    assert.ok(actions.has(action), `${action} is in the log`);
  }
  assert.ok(log.find((entry) => entry.action === 'sent').bytesSent > 19_000);
  await page.evaluate(() => client.forget());
  await page.close();
});
