/**
 * Tests failures of all kinds. After each, the client's update must be accepted in its round, or the client must give
 * up its assignment cleanly.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { watchSteps } from './support/steps.mjs';
import { reload, worldOfTests } from './support/world.mjs';

/** A task whose training can be held at any step. Its deadline is later than the end of any test. */
const TASK = { plan: { epochs: 10 }, scheduling: { deadlineSeconds: 3600 }, rounds: 1 };
/** The training time in milliseconds after which the worker stores a checkpoint. */
const CHECKPOINT_MILLISECONDS = 2000;
/** The size in bytes of an update of the digits classifier in float32, including its header. */
const UPDATE_BYTES = 19_352;
const OPTIONS = { timeout: 240_000 };

const world = worldOfTests();

/** Opens a page with a client that trains, and holds the training after `chunks` chunks of steps. */
async function training(options = {}, chunks = 2) {
  const page = await world.page(options);
  const steps = await watchSteps(page, options.device === 'webgpu' ? 'gpu' : 'cpu');
  await steps.allow(chunks);
  await page.evaluate(() => client.start());
  const task = await world.coordinator.task(TASK, 'cnn.onnx');
  await steps.held();
  return { page, task, steps };
}

/** Waits for the round, and asserts that it committed with only this update. */
async function counted(page, task) {
  await page.evaluate(() => heard('round'));
  const [round] = await world.coordinator.committed(task.id, 1);
  assert.equal(round.accepted, 1);
  await page.evaluate(() => client.forget());
  await page.close();
}

test('a reload in mid-training goes on from the checkpoint', OPTIONS, async () => {
  const { page, task, steps } = await training({}, 5);
  await steps.skip(CHECKPOINT_MILLISECONDS);
  await steps.allow(1);
  // The checkpoint is stored before the next chunk begins.
  await steps.held();
  const { step } = await page.evaluate(() => told.findLast(({ name }) => name === 'training'));
  await reload(page);
  await page.evaluate(() => client.start());
  const first = await page.evaluate(() => heard('training'));
  assert.equal(first.step, step + 1, 'the first chunk has one step');
  await counted(page, task);
});

test('a hidden page goes on, or rests if the policy says so', OPTIONS, async () => {
  const { page, task, steps } = await training();
  const hide = (state) => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  await page.evaluate(hide, 'hidden');
  await steps.allow(1);
  // When the training is held at the next chunk, one more chunk has been completed.
  await steps.held();
  await page.evaluate(() => client.setPolicy({ pauseWhenHidden: true }));
  assert.equal((await page.evaluate(() => heard('paused'))).reason, 'hidden');
  await steps.go();
  // The worker responds to messages. If it were not paused, it would perform steps between the responses.
  await page.evaluate(async () => {
    for (let time = 0; time < 20; time += 1) {
      await client.examples.count();
    }
  });
  const journal = await steps.journal();
  assert.ok(!journal.slice(journal.indexOf('paused')).includes('chunk'), `no step is begun: ${journal}`);
  await page.evaluate(hide, 'visible');
  await page.evaluate(() => heard('resumed'));
  await counted(page, task);
});

test('a long rest gives the assignment up, and the next one is taken', OPTIONS, async () => {
  const { page, task, steps } = await training({ policy: { giveUpAfterSeconds: 1 } });
  await page.evaluate(() => client.pause('the page has better things to do'));
  const aborted = await page.evaluate(() => heard('aborted'));
  assert.equal(aborted.reason, 'conditions_ended');
  await steps.go();
  await page.evaluate(() => client.resume());
  await counted(page, task);
});

test('a lost network is waited for', OPTIONS, async () => {
  const { page, task, steps } = await training();
  world.network.cut();
  await steps.go();
  try {
    await page.evaluate(() => heard('backingOff'));
  } finally {
    world.network.mend();
  }
  await counted(page, task);
});

test('an answer that breaks after its headers is asked for again', OPTIONS, async () => {
  const page = await world.page();
  const task = await world.coordinator.task({ rounds: 1 });
  world.network.breakAnswers(2);
  await page.evaluate(() => client.start());
  const { detail } = await page.evaluate(() => heard('backingOff'));
  assert.match(detail, /cannot be reached/);
  await counted(page, task);
  assert.equal(world.network.answersToBreak, 0);
});

test('an upload that is cut goes on, and the log has what was to go and what arrived', OPTIONS, async () => {
  const page = await world.page();
  const task = await world.coordinator.task({ rounds: 1 });
  world.network.cutUpdateAfter(8000);
  await page.evaluate(() => client.start());
  try {
    await page.evaluate(() => heard('backingOff'));
  } finally {
    world.network.mend();
  }
  await page.evaluate(() => heard('round'));
  const sent = (await page.evaluate(() => client.log())).filter(({ action }) => action === 'sent');
  assert.equal(sent.length, 2, 'the upload was cut once');
  assert.equal(sent[0].bytesSent, UPDATE_BYTES);
  const first = sent[0].bytesArrived;
  assert.ok(first <= 8000, `${first} bytes of it arrived`);
  assert.equal(first + sent[1].bytesSent, UPDATE_BYTES, 'what had arrived was not sent again');
  await counted(page, task);
});

test('a coordinator that is killed and comes back gets its update', OPTIONS, async () => {
  const { page, task, steps } = await training();
  await world.coordinator.stop('SIGKILL');
  await world.coordinator.start();
  await steps.go();
  await counted(page, task);
});

test('without room in storage the assignment is dropped, and with room it is made good', OPTIONS, async () => {
  const { page, task, steps } = await training();
  // Chromium's quota for an origin cannot be reduced, so let the database throw the error that an exceeded quota
  // causes.
  const [worker] = page.workers();
  await worker.evaluate(() => {
    globalThis.put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = () => {
      throw new DOMException('there is no room', 'QuotaExceededError');
    };
  });
  const refused = await page.evaluate(() =>
    client.examples.add({ features: new Float32Array(64), label: 1 }).then(
      () => 'taken',
      (error) => error.code,
    ),
  );
  assert.equal(refused, 'storage_full');
  await steps.go();
  const stopped = await page.evaluate(() => heard('stopped'));
  assert.equal(stopped.reason, 'storage_full');
  await worker.evaluate(() => {
    IDBObjectStore.prototype.put = globalThis.put;
  });
  await page.evaluate(() => client.start());
  await counted(page, task);
});

test('a lost WebGPU device costs steps, not the round', OPTIONS, async () => {
  const { page, task, steps } = await training({ device: 'webgpu' });
  const device = await page.evaluate(() => heard('device'));
  assert.notEqual(device.device, 'cpu', `the training is on the adapter: ${device.fault}`);
  await page.evaluate(() => client.loseDevice());
  await steps.go();
  const after = await page.evaluate(() => heard('device', 1));
  assert.equal(after.device, 'cpu');
  assert.match(after.fault, /given up|lost/);
  await counted(page, task);
});
