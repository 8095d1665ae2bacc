/** Tests that a client with pinned keys takes part only in tasks that its operator has endorsed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createKey, endorse } from './support/endorsing.mjs';
import { reload, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };

const world = worldOfTests();

/** From now on, changes the assignments that a page receives. */
async function changeAssignments(page, change) {
  await page.route('**/v1/check-in*', async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    if (answer.assignment !== undefined) {
      change(answer.assignment);
    }
    await route.fulfill({ response, json: answer });
  });
}

/** Starts the client and returns the detail of the first assignment that it gives up from now on. */
async function refusal(page) {
  await page.evaluate(() => client.start());
  const { reason, detail } = await page.evaluate(() => heard('aborted'));
  assert.equal(reason, 'plan_unsupported');
  const log = await page.evaluate(() => client.log());
  assert.deepEqual(log.filter(({ action }) => action === 'fetched').length, 0, 'nothing is fetched');
  assert.ok(
    log.some((entry) => entry.action === 'gave_up' && entry.detail.includes(detail)),
    'the user can read why',
  );
  return detail;
}

test('only what the operator has endorsed is trained', OPTIONS, async () => {
  const [own, other] = [await createKey(world, 'own'), await createKey(world, 'other')];
  const page = await world.page({ endorsementKeys: [own.publicKey] });
  const { id } = await world.coordinator.task({ rounds: 2 });
  assert.match(await refusal(page), /^the task has no endorsement/);
  await page.evaluate(() => client.stop());

  await endorse(world, id, other.file);
  await reload(page);
  assert.match(await refusal(page), /a key that this app does not accept/);
  await page.evaluate(() => client.stop());

  await endorse(world, id, own.file);
  await reload(page);
  await page.evaluate(() => client.start());
  await page.evaluate(() => heard('round'));
});

test('another plan, an altered statement and an older one are refused', OPTIONS, async () => {
  const { file, publicKey } = await createKey(world, 'signer');
  /** Opens a page in a population of its own, whose task has been endorsed twice. */
  const begin = async () => {
    world.coordinator.newPopulation();
    const page = await world.page({ endorsementKeys: [publicKey] });
    const { id } = await world.coordinator.task({ rounds: 9 });
    const first = await endorse(world, id, file);
    await endorse(world, id, file);
    return { page, first };
  };
  const changes = [
    [(assignment) => (assignment.plan.digest = assignment.model.digest), /^the plan is not a signed one$/],
    [(assignment) => (assignment.cohort_min = 0), /^the smallest cohort is 0, but 1 is signed$/],
    [(assignment) => (assignment.endorsement = assignment.endorsement.replace('format', 'Format')), /the signature does not match/],
  ];
  for (const [change, words] of changes) {
    const { page } = await begin();
    await changeAssignments(page, change);
    assert.match(await refusal(page), words);
    await page.close();
  }
  const { page, first } = await begin();
  await page.evaluate(() => client.start());
  await page.evaluate(() => heard('round'));
  await page.evaluate(() => client.stop());
  await reload(page);
  await changeAssignments(page, (assignment) => (assignment.endorsement = JSON.stringify(first)));
  await page.evaluate(() => client.start());
  const { detail } = await page.evaluate(() => heard('aborted'));
  assert.match(detail, /has the number 1, but this client has seen number 2$/);
});

test('a key that is none is refused', OPTIONS, async () => {
  const page = await world.page();
  const refused = await page.evaluate(async (options) => {
    client.close();
    return Folkmoot.connect({ examples: { shape: [64] }, ...options, endorsementKeys: ['c2hvcnQ='] }).then(
      () => 'opened',
      (error) => [error.code, error.message],
    );
  }, page.options);
  assert.equal(refused[0], 'bad_option');
  assert.match(refused[1], /`c2hvcnQ=` is not a public key/);
});
