/** Loads the extension in examples/browser-extension into Chromium, as its README says, and uses it like a user. */

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { startCoordinator } from './support/coordinator.mjs';
import { packageFolder, root } from './support/paths.mjs';

const EXAMPLE = `${root}examples/browser-extension`;
const LIKED = ['Rust compiler internals', 'How the Rust borrow checker works', 'Internals of a compiler', 'A checker for Rust'];
const DISLIKED = ['Ten celebrity diets', 'Celebrity gossip of the week', 'Diets that celebrities follow', 'The week in gossip'];
const DELAYING_MODULES = 400;

let folder, coordinator, browser;
before(async () => {
  folder = await mkdtemp(`${tmpdir()}/folkmoot-extension-`);
  // Without an allowed origin: the extension's permission for the coordinator's host is enough.
  coordinator = await startCoordinator('https://elsewhere.example');
  coordinator.population = 'readers';
  await cp(EXAMPLE, folder, { recursive: true });
  await cp(packageFolder, `${folder}/folkmoot`, { recursive: true });
  await delayTrainer();
  const settings = { coordinator: coordinator.url, enrolmentToken: await coordinator.token() };
  await writeFile(`${folder}/settings.mjs`, `export const settings = ${JSON.stringify(settings)};\n`);
  browser = await openBrowser({ extension: folder });
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Makes the hidden page load a long chain of modules first, so that the popup asks before the page has loaded. */
async function delayTrainer() {
  const next = (number) => (number < DELAYING_MODULES ? `import './delay-${number + 1}.mjs';\n` : '');
  for (let number = 1; number <= DELAYING_MODULES; number += 1) {
    await writeFile(`${folder}/delay-${number}.mjs`, next(number));
  }
  const trainer = `${folder}/trainer.mjs`;
  await writeFile(trainer, next(0) + (await readFile(trainer, 'utf8')));
}

/** Opens the popup as a page. Chromium has no way to press the button of the toolbar. */
async function openPopup() {
  const [worker = await browser.context.waitForEvent('serviceworker')] = browser.context.serviceWorkers();
  const popup = await browser.page(new URL('popup.html', worker.url()).href);
  await popup.getByText('Ratings:').waitFor();
  return popup;
}

test('an extension trains while its popup is closed, and then knows what is worth reading', { timeout: 120_000 }, async () => {
  const model = `${root}examples/models/logistic_regression.onnx`;
  const { id } = await coordinator.command('task', 'create', `${EXAMPLE}/task.toml`, '--model', model, '--activate');
  let popup = await openPopup();
  await popup.getByText('There is no model before the first round.').waitFor();
  for (const [titles, button] of [
    [LIKED, 'Worth reading'],
    [DISLIKED, 'Not worth it'],
  ]) {
    for (const [index, title] of titles.entries()) {
      await popup.getByLabel('This page').fill(title);
      await popup.getByRole('button', { name: button }).click();
      const ratings = (titles === LIKED ? 0 : LIKED.length) + index + 1;
      await popup.getByText(`Ratings: ${ratings}.`).waitFor();
    }
  }
  assert.deepEqual(await coordinator.rounds(id), [], 'nothing is trained without consent');
  await popup.getByRole('checkbox').check();
  await popup.close();

  await coordinator.committed(id, 10);
  popup = await openPopup();
  assert.equal(await popup.getByRole('checkbox').isChecked(), true);
  await popup.getByText('Ratings: 8. Rounds: 10.').waitFor();
  assert.ok((await guess(popup, 'Compiler internals')) > 60);
  assert.ok((await guess(popup, 'Celebrity diets')) < 40);
  await popup.getByRole('checkbox').uncheck();
  await popup.getByText('Stopped.').waitFor();
});

/** Returns the percentage that the popup shows for a title. */
async function guess(popup, title) {
  await popup.getByLabel('This page').fill(title);
  const shown = popup.locator(`#guess[data-title="${title}"]`);
  await shown.waitFor();
  return Number((await shown.textContent()).match(/(\d+) %/)[1]);
}
