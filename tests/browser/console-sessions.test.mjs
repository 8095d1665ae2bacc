/** Tests the console after a session has ended, with a second tab, and after a response that a view cannot show. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { api, drawn, signIn } from './support/console.mjs';
import { set } from './support/console_forms.mjs';
import { startCoordinator } from './support/coordinator.mjs';
import { root } from './support/paths.mjs';

let coordinator, browser;

before(async () => {
  coordinator = await startCoordinator('https://nobody.example');
  browser = await openBrowser();
});
beforeEach(() => browser.context.clearCookies());
after(async () => {
  await browser?.close();
  await coordinator?.close();
});

async function signInAgain(page) {
  await page.getByLabel('API key').fill(coordinator.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signOut(page) {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
}

/** Runs `act` while the other tab is offline. Otherwise that tab's polls would find out that the session is over. */
async function meanwhile(other, act) {
  await other.route('**/v1/admin/**', (route) => route.abort());
  await act();
  await other.unroute('**/v1/admin/**');
}

test('what was typed is there again after the session has ended', { timeout: 60_000 }, async () => {
  const page = await signIn(browser, coordinator);
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByRole('button', { name: 'Create a task' }).click();
  await page.getByLabel('ONNX file').setInputFiles(`${root}examples/digits/model.onnx`);
  await set(page, 'name', 'half written');
  await set(page, 'stop.rounds', 77);
  // Wait for the pending check. Otherwise it would find out that the session is over before the rest is typed.
  await page.locator('pre.toml').getByText('rounds = 77').waitFor();

  await browser.context.clearCookies();
  await set(page, 'population', 'patient');
  await page.getByText('Your session has ended').waitFor();
  await signInAgain(page);
  await page.getByRole('heading', { level: 1, name: 'Create a task' }).waitFor();
  const typed = await Promise.all(['name', 'population', 'stop.rounds'].map((name) => page.locator(`[name="${name}"]`).inputValue()));
  assert.deepEqual(typed, ['half written', 'patient', '77']);
  await page.getByRole('button', { name: 'Create the task' }).click();
  await page.getByRole('heading', { level: 1, name: 'half written' }).waitFor();
});

test('two tabs: what one ends is over in both, and a token that is old still signs out', { timeout: 60_000 }, async () => {
  const first = await signIn(browser, coordinator);
  const second = await browser.page(`${coordinator.url}/console/`);
  await meanwhile(first, async () => {
    await signOut(second);
    await first.getByRole('link', { name: 'Tasks', exact: true }).click();
  });
  await first.getByText('Your session has ended').waitFor();
  await signInAgain(first);
  await first.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();

  await second.reload();
  await meanwhile(first, async () => {
    await signOut(second);
    await signInAgain(second);
    await second.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
  await signOut(first);
  await second.reload();
  await second.getByLabel('API key').waitFor();
});

test('an answer that a view cannot show leaves the others as they are', { timeout: 60_000 }, async () => {
  const page = await signIn(browser, coordinator);
  await page.route('**/v1/admin/system', (route) => route.fulfill({ json: { version: 'of another time' } }));
  // Delay the next view until after the response to a repeated request. The broken view must not send such a request.
  let letThrough;
  const isAsked = new Promise((resolve) => (letThrough = resolve));
  await page.route('**/tasks-*.js', async (route) => {
    await isAsked;
    await route.continue();
  });
  await page.getByRole('link', { name: 'System', exact: true }).click();
  await page.getByRole('alert').getByText("This view cannot show the coordinator's response").waitFor();
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  // If the broken view had repeated its request, its response would have arrived before this one.
  await drawn(page);
  await api(page, '/system');
  letThrough();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  await page.unroute('**/v1/admin/system');
  await page.getByRole('link', { name: 'System', exact: true }).click();
  await page.getByRole('heading', { name: 'Health' }).waitFor();
});
