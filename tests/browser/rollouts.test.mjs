/** Tests that a page uses the model that an operator has rolled out to it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { examples } from './support/digits.mjs';
import { createKey, endorse } from './support/endorsing.mjs';
import { reload, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 90_000 };
const [{ features: DIGIT }] = examples(0, 1);

const world = worldOfTests();

const update = (page) => page.evaluate(() => client.updateModel());

/** Returns the outputs of a page's model for one digit, or the code of the error. */
function outputs(page) {
  return page.evaluate(
    (digit) =>
      client.predict(digit).then(
        ({ outputs }) => Array.from(outputs),
        ({ code }) => code,
      ),
    DIGIT,
  );
}

/** Returns the rollouts of the current population, newest first. */
const rollouts = () => world.coordinator.command('rollout', 'list', world.coordinator.population);

test('a page uses the model that is rolled out until it is held', OPTIONS, async () => {
  const { coordinator } = world;
  const page = await world.page();
  const { id } = await coordinator.task({ rounds: 1 });
  assert.equal(await update(page), null);
  assert.equal(await outputs(page), 'no_model');
  await page.evaluate(() => client.start());
  await page.evaluate(() => heard('round'));
  await coordinator.committed(id, 1);
  await page.evaluate(() => client.stop());
  const untrained = await outputs(page);

  await coordinator.command('rollout', 'create', id);
  const rolledOut = { rollout: 1, taskId: id, version: 1, isNew: true };
  assert.deepEqual(await update(page), rolledOut);
  assert.deepEqual(await update(page), { ...rolledOut, isNew: false });
  const trained = await outputs(page);
  assert.notDeepEqual(trained, untrained);
  await reload(page);
  assert.deepEqual(await outputs(page), trained, 'a reload keeps the model');

  // A page that has no consent and no examples can use the model, too.
  const other = await page.evaluate(
    async ([options, digit]) => {
      const other = await Folkmoot.connect({ ...options, examples: { shape: [64] }, name: 'other' });
      const { version } = await other.updateModel();
      return { version, outputs: Array.from((await other.predict(digit)).outputs) };
    },
    [page.options, DIGIT],
  );
  assert.deepEqual(other, { version: 1, outputs: trained });
  const [{ loaded, failed }] = await rollouts();
  assert.deepEqual({ loaded, failed }, { loaded: 2, failed: 0 });

  await coordinator.command('rollout', 'hold', coordinator.population, '1');
  assert.equal(await update(page), null);
  assert.deepEqual(await outputs(page), untrained, 'the page returns to the model of its last assignment');
});

test('a page with pinned keys uses only a model that is endorsed', OPTIONS, async () => {
  const { coordinator } = world;
  const { file, publicKey } = await createKey(world, 'operator');
  const page = await world.page({ endorsementKeys: [publicKey], channel: 'beta', count: 0 });
  const { id } = await coordinator.task();
  await coordinator.command('rollout', 'create', id, '--channel', 'beta');
  const [code, message] = await page.evaluate(() => client.updateModel().catch(({ code, message }) => [code, message]));
  assert.equal(code, 'model_unusable');
  assert.match(message, /^the model of rollout 1 cannot be used on this device: the task has no endorsement/);
  assert.equal(await outputs(page), 'no_model');
  const actions = (await page.evaluate(() => client.log())).map(({ action }) => action);
  assert.deepEqual(actions, ['consent', 'enrolled', 'asked', 'reported'], 'nothing is fetched');
  const [{ failed, last_failure: failure }] = await rollouts();
  assert.equal(failed, 1);
  assert.match(failure, /no endorsement/);

  await endorse(world, id, file);
  assert.deepEqual(await update(page), { rollout: 1, taskId: id, version: 0, isNew: true });
  assert.equal((await outputs(page)).length, 10);
});

test('a channel that is no name is refused', OPTIONS, async () => {
  const page = await world.page({ count: 0 });
  const [code, message] = await page.evaluate(
    (options) =>
      Folkmoot.connect({ ...options, examples: { shape: [64] }, name: 'other', channel: 'No name' }).catch(({ code, message }) => [
        code,
        message,
      ]),
    page.options,
  );
  assert.equal(code, 'bad_option');
  assert.match(message, /`No name` is not a channel name/);
});
