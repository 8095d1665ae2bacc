/** What goes wrong ends in a round that counts, or in an assignment that is given up in good order. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { reload, until, worldOfTests } from './support/world.mjs';

/** A training that lasts for some seconds. */
const LONG = { plan: { epochs: 120 }, rounds: 1 };
/** An update of the digits' classifier as float32, with its header. */
const UPDATE_BYTES = 19_352;
/** Over the longest waits of a test together: two of 60 s, and some of 30 s. */
const OPTIONS = { timeout: 240_000 };

const world = worldOfTests();

/** Opens a page whose client is in the middle of a long training. */
async function training(options = {}) {
  const page = await world.page(options);
  await page.evaluate(() => client.start());
  const task = await world.coordinator.task(LONG, 'cnn.onnx');
  await page.evaluate(() => heard('training', 60_000));
  return { page, task };
}

/** Waits for the round, and that it committed with this update alone. */
async function counted(page, task) {
  await page.evaluate(() => heard('round', 60_000));
  const [round] = await until(async () => {
    const rounds = await world.coordinator.rounds(task.id);
    return rounds.length === 1 ? rounds : null;
  });
  assert.equal(round.accepted, 1);
  await page.evaluate(() => client.forget());
  await page.close();
}

test('a reload in mid-training goes on from the checkpoint', OPTIONS, async () => {
  // It takes a share of the time only, so that it lasts beyond its first checkpoint.
  const { page, task } = await training({ policy: { cpuShare: 0.2 } });
  const begun = (await page.evaluate(() => heard('training'))).at;
  await page.waitForFunction((begun) => told.findLast(({ name }) => name === 'training').at > begun + 5000, begun);
  await reload(page);
  await page.evaluate(() => client.start());
  const first = await page.evaluate(() => heard('training', 60_000));
  assert.ok(first.step > 20, `it goes on at step ${first.step}`);
  await page.evaluate(() => client.setPolicy({}));
  await counted(page, task);
});

test('a hidden page goes on, or rests if the policy says so', OPTIONS, async () => {
  const { page, task } = await training();
  const hide = (state) => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  };
  await page.evaluate(hide, 'hidden');
  await page.evaluate(() => client.setPolicy({ pauseWhenHidden: true }));
  assert.equal((await page.evaluate(() => heard('paused'))).reason, 'hidden');
  const steps = () => page.evaluate(() => told.filter((event) => event.name === 'training').length);
  const before = await steps();
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(await steps(), before, 'no step is taken');
  await page.evaluate(hide, 'visible');
  await page.evaluate(() => heard('resumed'));
  await counted(page, task);
});

test('a long rest gives the assignment up, and the next one is taken', OPTIONS, async () => {
  const { page, task } = await training({ policy: { giveUpAfterSeconds: 1 } });
  await page.evaluate(() => client.pause('the page has better things to do'));
  const aborted = await page.evaluate(() => heard('aborted'));
  assert.equal(aborted.reason, 'conditions_ended');
  await page.evaluate(() => client.resume());
  await counted(page, task);
});

test('a lost network is waited for', OPTIONS, async () => {
  const { page, task } = await training();
  world.network.cut();
  try {
    await page.evaluate(() => heard('backing_off', 60_000));
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
  const { detail } = await page.evaluate(() => heard('backing_off'));
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
    await page.evaluate(() => heard('backing_off', 60_000));
  } finally {
    world.network.mend();
  }
  await page.evaluate(() => heard('round', 60_000));
  const sent = (await page.evaluate(() => client.log())).filter(({ action }) => action === 'sent');
  assert.equal(sent.length, 2, 'the upload was cut once');
  assert.equal(sent[0].bytesSent, UPDATE_BYTES);
  const first = sent[0].bytesArrived;
  assert.ok(first <= 8000, `${first} bytes of it arrived`);
  assert.equal(first + sent[1].bytesSent, UPDATE_BYTES, 'what had arrived was not sent again');
  await counted(page, task);
});

test('a coordinator that is killed and comes back gets its update', OPTIONS, async () => {
  const { page, task } = await training();
  await world.coordinator.stop('SIGKILL');
  await world.coordinator.start();
  await counted(page, task);
});

test('without room in storage the assignment is dropped, and with room it is made good', OPTIONS, async () => {
  const { page, task } = await training();
  // Chromium's own quota cannot be made smaller for an origin: the database says what it would say.
  const [worker] = page.workers();
  await worker.evaluate(() => {
    globalThis.put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = () => {
      throw new DOMException('there is no room', 'QuotaExceededError');
    };
  });
  const refused = await page.evaluate(() =>
    client.examples.add({ features: new Float32Array(64), label: 1 }).then(() => 'taken', (error) => error.code),
  );
  assert.equal(refused, 'storage_full');
  const stopped = await page.evaluate(() => heard('stopped', 60_000));
  assert.equal(stopped.reason, 'storage_full');
  await worker.evaluate(() => {
    IDBObjectStore.prototype.put = globalThis.put;
  });
  await page.evaluate(() => client.start());
  await counted(page, task);
});

test('a lost WebGPU device costs steps, not the round', OPTIONS, async () => {
  const { page, task } = await training({ device: 'webgpu' });
  const device = await page.evaluate(() => heard('device'));
  assert.notEqual(device.device, 'cpu', `the training is on the adapter: ${device.fault}`);
  await page.evaluate(() => client.loseDevice());
  const after = await page.evaluate(() => heard('device', 30_000, 1));
  assert.equal(after.device, 'cpu');
  assert.match(after.fault, /given up|lost/);
  await counted(page, task);
});
