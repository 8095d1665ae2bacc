/**
 * Tests secure aggregation in pages. A round has two tabs and a native client, and all of them are needed: a round that
 * commits has the three updates.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startCommittee } from './support/committee.mjs';
import { lines } from './support/digits.mjs';
import { watchSteps } from './support/steps.mjs';
import { rowCounts, sessionIs } from './support/storage.mjs';
import { reload, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 240_000 };
/** The number of digits of each client. One batch has all of them, so the order of the examples hardly matters. */
const DIGITS = 200;
/** The largest difference between the outputs of versions that differ only in the order in which examples were summed. */
const TOLERANCE = 1e-4;
/** The text of the event when the module `masks` cannot be loaded. */
const NO_MODULE = /the module for this task could not be loaded/;

/** The settings of tasks without masks. */
const MEAN = '[aggregator]\nkind = "weighted_mean"';

const world = worldOfTests();

function masks(threat = 'honest_but_curious') {
  return `${MEAN}\n[protection.secure_aggregation]\nthreat = "${threat}"\ncorrupt_share = 0.0\ndropout_share = 0.0\nstep_deadline_seconds = 3600`;
}

/** Creates a task whose rounds need all three clients. */
function task(settings, rounds = 1) {
  const scheduling = { reportGoal: 3, deadlineSeconds: 3600 };
  return world.coordinator.task({ plan: { batchSize: DIGITS }, scheduling, rounds, settings });
}

/** Opens two tabs whose clients have not started, and starts a native client. */
async function clients(options = {}) {
  const pages = [];
  for (const index of [0, 1]) {
    pages.push(await world.page({ from: index * DIGITS, count: DIGITS, ...options }));
  }
  const native = world.coordinator.nativeClient(await world.coordinator.token(), nativeName(), lines.slice(2 * DIGITS, 3 * DIGITS));
  return { pages, native };
}

let natives = 0;
function nativeName() {
  natives += 1;
  return `native-${natives}`;
}

/** Waits until this number of rounds has committed, each with the updates of all three clients. */
async function committed(id, count) {
  for (const round of await world.coordinator.committed(id, count)) {
    assert.equal(round.accepted, 3, 'both tabs and the native client are in it');
  }
}

/** Returns the outputs of the first version of a task, for some digits. */
async function firstVersion(settings, build) {
  world.coordinator.newPopulation();
  const { pages, native } = await clients();
  try {
    const [page, other] = pages;
    const steps = await watchSteps(page, build);
    await steps.allow(1);
    const { id } = await task(settings, 2);
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    // The training of the second round is held, so the newest model stays the first version.
    await steps.held();
    await committed(id, 1);
    const features = lines.slice(600, 700).flatMap((line) => line.split(',').slice(0, 64).map(Number));
    const outputs = await page.evaluate(async (features) => Array.from((await client.predict(features)).outputs), features);
    await steps.go();
    await committed(id, 2);
    await sessionIs(other, 'checked_in', 'idle');
    assert.equal((await rowCounts(other)).work, 0, 'the journal and the update are deleted');
    const log = await other.evaluate(() => client.log());
    await Promise.all(pages.map((page) => page.evaluate(() => client.forget())));
    return { outputs, log };
  } finally {
    await native.end();
    await world.closePages();
  }
}

/** Blocks or unblocks the module `masks`. */
async function block(page, isBlocked) {
  await (isBlocked ? page.route('**/masks/*', (route) => route.abort()) : page.unroute('**/masks/*'));
}

/** Resolves when the client asks for the answer to this step. The request is never answered. */
function asked(page, step) {
  return new Promise((resolve) => {
    void page.route(new RegExp(`/secure\\?after=${step}&`), () => resolve(), { times: 1 });
  });
}

test('two tabs and a native client with masks make the version that they make without', OPTIONS, async () => {
  const plain = await firstVersion(MEAN, 'cpu');
  const masked = await firstVersion(masks(), 'masks');
  assert.equal(masked.outputs.length, 1000);
  const largest = masked.outputs.reduce((largest, value, index) => Math.max(largest, Math.abs(value - plain.outputs[index])), 0);
  console.log(`the versions differ by ${largest.toExponential(1)} at most`);
  assert.ok(largest <= TOLERANCE, `differs by ${largest}`);
  assert.ok(
    masked.outputs.some((value) => Math.abs(value) > 1e-2),
    'the outputs are not zero',
  );
  const sent = (log) => log.filter(({ action }) => action === 'sent').map(({ detail }) => detail.replace(/ [0-9a-f:]{32,}$/, ''));
  const round = ['secure aggregation: keys', 'secure aggregation: shares', 'update', 'secure aggregation: opening'];
  assert.deepEqual(
    sent(masked.log).map((detail) => (detail.startsWith('update') ? 'update' : detail)),
    [...round, ...round],
  );
  assert.ok(masked.log.every(({ action, bytesSent }) => action !== 'sent' || bytesSent > 0));
  assert.ok(!sent(plain.log).some((detail) => detail.startsWith('secure')));
});

test('tabs that are reloaded in the middle of the exchange go on', OPTIONS, async () => {
  const { pages, native } = await clients();
  try {
    const [first, second] = pages;
    const [beforeRoster, beforeShares] = [asked(first, 'keys'), asked(second, 'shares')];
    const { id } = await task(masks());
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    const assigned = await Promise.all(pages.map((page) => page.evaluate(() => heard('assigned'))));
    await beforeRoster;
    await reload(first);
    await first.evaluate(() => client.start());
    await beforeShares;
    await reload(second);
    await second.evaluate(() => client.start());
    for (const [index, page] of pages.entries()) {
      const round = await page.evaluate(() => heard('round'));
      assert.equal(round.assignmentId, assigned[index].assignmentId, 'the assignment from before the reload');
    }
    await committed(id, 1);
  } finally {
    await native.end();
  }
});

test('against a malicious coordinator the tabs sign, and a reload before the opening is made good', OPTIONS, async () => {
  const { pages, native } = await clients();
  try {
    const [first, second] = pages;
    const [beforeSurvivors, beforeAgreement] = [asked(first, 'update'), asked(second, 'agreement')];
    const { id } = await task(masks('malicious'));
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    await beforeSurvivors;
    await reload(first);
    await first.evaluate(() => client.start());
    await beforeAgreement;
    await reload(second);
    await second.evaluate(() => client.start());
    await Promise.all(pages.map((page) => page.evaluate(() => heard('round'))));
    await committed(id, 1);
    const log = await first.evaluate(() => client.log());
    const details = new Set(log.map(({ detail }) => detail));
    for (const content of ['keys', 'shares', 'agreement', 'opening']) {
      assert.ok(details.has(`secure aggregation: ${content}`), `the log has ${content}`);
    }
  } finally {
    await native.end();
  }
});

test('without the module for masks the tab waits, and takes the same assignment when it is there', OPTIONS, async () => {
  const { pages, native } = await clients();
  try {
    const [page, other] = pages;
    await block(page, true);
    const { id } = await task(masks());
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    assert.match((await page.evaluate(() => heard('backingOff'))).detail, NO_MODULE);
    const answered = asked(page, 'keys');
    await block(page, false);
    const { assignmentId } = await page.evaluate(() => heard('assigned'));
    await answered;
    // After a reload, the session is already in the middle of the exchange.
    await block(page, true);
    await reload(page);
    await page.evaluate(() => client.start());
    assert.match((await page.evaluate(() => heard('backingOff'))).detail, NO_MODULE);
    await block(page, false);
    const round = await page.evaluate(() => heard('round'));
    assert.equal(round.assignmentId, assignmentId);
    await other.evaluate(() => heard('round'));
    await committed(id, 1);
  } finally {
    await native.end();
  }
});

test('tabs evaluate the versions of a task with masks', OPTIONS, async () => {
  const { pages, native } = await clients();
  try {
    const { id } = await task(`${masks()}\n[evaluation.federated]\nreport_goal = 3`);
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    for (const page of pages) {
      // An evaluation is not masked, but its plan has the terms.
      await page.evaluate(() => heard('evaluating'));
      assert.ok(!(await page.evaluate(() => told.some(({ name }) => name === 'aborted'))));
    }
    await committed(id, 1);
  } finally {
    await native.end();
  }
});

test('tabs that mask for a committee send one message and may close', OPTIONS, async () => {
  const { coordinator } = world;
  const committee = await startCommittee(coordinator.folder, 3);
  coordinator.variables = committee.variables;
  await coordinator.stop();
  await coordinator.start();
  const { pages, native } = await clients();
  try {
    const { id } = await task(`${MEAN}\n${committee.settings}`);
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    for (const page of pages) {
      await page.evaluate(() => heard('round'));
      await page.close();
    }
    await committed(id, 1);
  } finally {
    await native.end();
    await committee.close();
  }
});

test('an app that demands a larger cohort declines', OPTIONS, async () => {
  const page = await world.page({ limits: { cohortMin: 4 } });
  await task(masks());
  const others = await clients();
  try {
    await Promise.all([page, others.pages[0]].map((page) => page.evaluate(() => client.start())));
    assert.equal((await page.evaluate(() => heard('aborted'))).reason, 'declined');
  } finally {
    await others.native.end();
  }
});

test('a coordinator cannot switch masks off, in any module', OPTIONS, async () => {
  const page = await world.browser.page(`${world.site.origin}/engine.html`);
  await page.waitForFunction(() => globalThis.isReady === true);
  for (const build of ['cpu', 'gpu', 'complete', 'masks']) {
    const refusal = await page.evaluate((build) => engine('refusal', { build, name: 'mlp' }), build);
    assert.equal(refusal.work_failed.reason, 'plan_unsupported', build);
    const expected = build === 'masks' ? /contradict/ : /unknown variant/;
    assert.match(refusal.work_failed.detail, expected, build);
  }
});

test('the weights of an app that trains in its own loop are masked, too', OPTIONS, async () => {
  const { pages, native } = await clients({ trainer: 'addsNumbers' });
  try {
    const { id } = await task(masks());
    await Promise.all(pages.map((page) => page.evaluate(() => client.start())));
    await committed(id, 1);
    const log = await pages[0].evaluate(() => client.log());
    assert.ok(log.some(({ detail }) => detail === 'secure aggregation: opening'));
  } finally {
    await native.end();
  }
});
