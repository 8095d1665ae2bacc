/** Tests apps that train in a loop of their own, with the client around it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lines } from './support/digits.mjs';
import { reload, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };
/** The largest difference of a weight after a round, which the coordinator sums on a grid. */
const TOLERANCE = 1e-4;
/** A task that waits for its update longer than any test. */
const PATIENT = { scheduling: { deadlineSeconds: 3600 }, rounds: 1 };

const world = worldOfTests();

/** Returns the reason and the detail with which a client gives up the assignment of a new task. */
async function refusal(trainer, change) {
  const page = await world.page({ trainer });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ ...PATIENT, ...change });
  const { reason, detail } = await page.evaluate(() => heard('aborted'));
  await page.evaluate(() => client.forget());
  return [reason, detail];
}

test('the weights of a loop become the next version, and the next round starts from them', OPTIONS, async () => {
  const page = await world.page({ trainer: 'addsNumbers' });
  const task = await world.coordinator.task({ rounds: 2 });
  await page.evaluate(() => client.start());
  const rounds = await world.coordinator.committed(task.id, 2);
  assert.ok(rounds.every(({ accepted }) => accepted === 1));
  const works = await page.evaluate(() =>
    works.map(({ roundNumber, baseVersion, taskId, plan, weights }) => ({
      numbers: [roundNumber, baseVersion],
      taskId,
      batchSize: plan.training.batch_size,
      tensors: Object.entries(weights).map(([name, { shape, values }]) => ({ name, shape, values: Array.from(values) })),
    })),
  );
  assert.deepEqual(
    works.map(({ numbers }) => numbers),
    [
      [1, 0],
      [2, 1],
    ],
  );
  assert.deepEqual([works[0].taskId, works[0].batchSize], [task.id, 16]);
  const shapes = works[0].tensors.map(({ name, shape }) => [name, ...shape]);
  assert.deepEqual(shapes, [
    ['layer_1.weight', 64, 64],
    ['layer_1.bias', 64],
    ['layer_2.weight', 10, 64],
    ['layer_2.bias', 10],
  ]);
  works[1].tensors.forEach(({ name, values }, index) => {
    const before = works[0].tensors[index].values;
    const off = values.map((value, at) => Math.abs(value - before[at] - index - 1));
    assert.ok(Math.max(...off) < TOLERANCE, `${name} differs by ${Math.max(...off)}`);
  });
  const log = await page.evaluate(() => client.log());
  assert.ok(log.some(({ action }) => action === 'trained') && log.some(({ action, bytesSent }) => action === 'sent' && bytesSent > 19_000));
  await page.evaluate(() => client.forget());
});

test('a loop that trains in place makes a model that predicts', OPTIONS, async () => {
  const page = await world.page({ trainer: 'lastLayer', count: 300 });
  await page.evaluate(() => client.start());
  await world.coordinator.task({ plan: { epochs: 20 }, rounds: 2 });
  await page.evaluate(() => heard('round'));
  await page.evaluate(() => heard('model', 1));
  const tested = lines.slice(600, 800).map((line) => line.split(',').map(Number));
  const features = tested.flatMap((numbers) => numbers.slice(0, 64));
  const outputs = await page.evaluate(async (features) => Array.from((await client.predict(features)).outputs), features);
  const right = tested.filter((numbers, index) => {
    const scores = outputs.slice(10 * index, 10 * (index + 1));
    return scores.indexOf(Math.max(...scores)) === numbers[64];
  });
  assert.ok(right.length > 150, `${right.length} of 200`);
  await page.evaluate(() => client.forget());
});

test('a loop evaluates versions, with its own metrics', OPTIONS, async () => {
  const page = await world.page({ trainer: 'addsNumbers' });
  await page.evaluate(() => client.start());
  const { id } = await world.coordinator.task({ rounds: 1, settings: '[evaluation.federated]\nreport_goal = 1' });
  const [measured] = await world.coordinator.log.until('an evaluation', async () => {
    const evaluations = await world.coordinator.command('task', 'evaluations', id);
    return evaluations.length > 0 && evaluations[0].example_count > 0 ? evaluations : null;
  });
  assert.equal(measured.example_count, 20);
  await page.evaluate(() => client.forget());
});

test('a loop pauses with the client, and ends when it stops', OPTIONS, async () => {
  const page = await world.page({ trainer: 'waits' });
  await world.coordinator.task(PATIENT);
  await page.evaluate(() => client.start());
  await page.evaluate(async () => {
    await begun();
    client.pause('the page has better things to do');
    globalThis.answer = null;
    void works[0].isStopped().then((isStopped) => {
      globalThis.answer = isStopped;
    });
    // If the loop were not paused, its answer would arrive before the worker's.
    await client.examples.count();
  });
  assert.equal(await page.evaluate(() => answer), null);
  await page.evaluate(() => client.resume());
  await page.waitForFunction(() => answer === false);
  await page.evaluate(() => client.stop());
  assert.equal(await page.evaluate(() => works[0].signal.aborted), true);
  await page.waitForFunction(() => globalThis.wasStopped === true);
  await page.evaluate(() => client.forget());
});

test('a loop starts again after a reload', OPTIONS, async () => {
  const page = await world.page({ trainer: 'waits' });
  const { id } = await world.coordinator.task(PATIENT);
  await page.evaluate(() => client.start());
  const first = await page.evaluate(async () => (await begun()).assignmentId);
  await reload(page);
  await page.evaluate(() => client.start());
  const second = await page.evaluate(async () => (await begun()).assignmentId);
  assert.equal(second, first);
  await page.evaluate(() => goOn());
  await world.coordinator.committed(id, 1);
  await page.evaluate(() => client.forget());
});

test('a loop is asked for what it has when the time for training is up', OPTIONS, async () => {
  const page = await world.page({ trainer: 'untilAsked', limits: { trainingSecondsMax: 1 } });
  const { id } = await world.coordinator.task(PATIENT);
  await page.evaluate(() => client.start());
  await world.coordinator.committed(id, 1);
  await page.evaluate(() => client.forget());
});

test('a loop that fails gives its assignment up, and its words stay in the page', OPTIONS, async () => {
  for (const trainer of ['fails', 'misfits']) {
    assert.deepEqual(await refusal(trainer), ['training_failed', "the app's own training loop failed; see the browser's console"]);
    world.coordinator.newPopulation();
  }
});

test('a plan that only the engine can follow is refused', OPTIONS, async () => {
  const settings = '[aggregator]\nkind = "uniform_mean"\n[finalizer]\nkind = "scaffold"\nclients = 2';
  const [reason, detail] = await refusal('addsNumbers', { plan: { stepsMax: 20 }, settings });
  assert.equal(reason, 'plan_unsupported');
  assert.match(detail, /drift_correction needs the engine/);
});

test('what is no trainer is refused', OPTIONS, async () => {
  const page = await world.page();
  const refused = await page.evaluate(async (options) => {
    client.close();
    return Folkmoot.connect({ ...options, trainer: { train: () => null } }).then(
      () => 'opened',
      (error) => [error.code, error.message],
    );
  }, page.options);
  assert.deepEqual(refused, ['bad_option', 'options.trainer has no function `exampleCount`; give it one']);
});
