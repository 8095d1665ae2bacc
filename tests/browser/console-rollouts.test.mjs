/** Tests that an operator rolls a version out in the console, and sees what devices make of it. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { api, natives, screenshot, settled, signIn, violations } from './support/console.mjs';
import { confirm } from './support/console_forms.mjs';
import { startCoordinator } from './support/coordinator.mjs';

const LIST = '/populations/digits/rollouts';
let coordinator, browser, page, task, token;

before(async () => {
  coordinator = await startCoordinator('https://nobody.example');
  browser = await openBrowser();
  task = await coordinator.task({ rounds: 2 });
  token = await coordinator.token();
  const clients = natives(coordinator, token, 1);
  await coordinator.committed(task.id, 2);
  await clients.end();
  page = await signIn(browser, coordinator);
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
});

async function open(path, at = page) {
  await at.goto(`${coordinator.url}/console/${path}`);
  await settled(at);
}

/** Asks, as the device with this name, for the model that is rolled out to it. */
function fetchModel(name, ...flags) {
  const folder = `${coordinator.folder}/device-${name}`;
  const device = ['--coordinator', coordinator.url, '--token', token, '--state', folder, '--out', `${folder}.onnx`];
  return coordinator.command('rollout', 'fetch', ...device, ...flags);
}

/** The dialog that is open. */
function dialog() {
  return page.locator('dialog[open]');
}

/** The row of a rollout in the table of its channel. */
function row(number, at = page) {
  return at.getByRole('region', { name: 'Rollouts of channel stable' }).locator(`tbody tr:has(td:first-child:text-is("${number}"))`);
}

async function openForm(version) {
  await page.getByRole('button', { name: `Roll out version ${version}`, exact: true }).click();
  await dialog()
    .getByRole('heading', { name: `Roll out version ${version}` })
    .waitFor();
}

/** Checks the page for accessibility faults and for overflow, narrow and wide. */
async function check(name) {
  for (const [width, colorScheme] of [
    [390, 'light'],
    [1024, 'dark'],
    [1440, 'light'],
  ]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await settled(page);
    assert.deepEqual(await violations(page), [], `${name}, ${width}`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 1, `${name} fits ${width} pixels`);
    await screenshot(page, `${name}-${width}-${colorScheme}`, 900);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

test('a version is rolled out to all devices, and the next one to some', { timeout: 120_000 }, async () => {
  await open('clients/digits');
  await page.getByText('No model is rolled out yet').waitFor();

  await open(`tasks/${task.id}`);
  await openForm(1);
  await page.keyboard.press('Escape');
  await dialog().waitFor({ state: 'detached' });
  const focused = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  assert.equal(focused, 'Roll out version 1', 'the focus is back at the button');

  await openForm(1);
  assert.equal(await page.getByLabel('Channel', { exact: true }).inputValue(), 'stable');
  await dialog().getByText('All devices of channel stable get version 1 when their app next asks.').waitFor();
  await dialog().getByRole('button', { name: 'Roll out', exact: true }).click();
  await page.getByText('Rollout 1 gives version 1 to 100 % of the devices of channel stable.').waitFor();

  await openForm(2);
  const share = page.getByLabel('Share of the devices in percent');
  await share.fill('101');
  await dialog().getByText('Enter a number from 0 to 100.').waitFor();
  await dialog().getByRole('button', { name: '10 %', exact: true }).click();
  assert.equal(await share.inputValue(), '10');
  await dialog()
    .getByText('10 % of the devices of channel stable get version 2 when their app next asks; the others keep version 1.')
    .waitFor();
  await check('roll-out');
  await dialog().getByRole('button', { name: 'Roll out', exact: true }).click();
  await page.getByText('Rollout 2 gives version 2 to 10 % of the devices of channel stable.').waitFor();
  const [second, first] = await api(page, LIST);
  assert.deepEqual([first.version, first.share, second.version, second.share], [1, 1, 2, 0.1]);
  await page.getByRole('link', { name: 'See the rollouts of digits' }).click();
  await row(2).getByRole('link', { name: 'digits, version 2' }).waitFor();
  assert.equal(await row(2).locator('td').nth(2).textContent(), '10 %');
});

test('failed devices hold a rollout, and an operator changes, resumes and holds it', { timeout: 120_000 }, async () => {
  await open('clients/digits');
  await row(2).getByRole('button', { name: 'Share of rollout 2' }).click();
  await page.getByLabel('Share of the devices in percent').fill('100');
  await dialog().getByText('All devices of channel stable get version 2').waitFor();
  await dialog().getByRole('button', { name: 'Change the share' }).click();
  await row(2).getByText('100 %', { exact: true }).waitFor();

  const { public_key: key } = await coordinator.command('endorsement', 'key', '--out', `${coordinator.folder}/key.pem`);
  assert.equal((await fetchModel('good')).version, 2);
  // No key has signed the task, so devices that pin one cannot use the model.
  await assert.rejects(fetchModel('pinned', '--endorsement-key', key));
  await assert.rejects(fetchModel('pinned-too', '--endorsement-key', key));
  await page.reload();
  await row(2).getByText('held: 2 of 3 devices could not use the model').waitFor();
  const [loaded, failed] = (await row(2).locator('td').allTextContents()).slice(3, 5);
  assert.deepEqual([loaded, failed], ['1', '2']);
  await check('rollouts');

  await row(2).getByRole('button', { name: 'Resume' }).click();
  await dialog().getByText('All devices of channel stable get version 2').waitFor();
  await confirm(page, 'Resume the rollout');
  await row(2).getByText(/^open/).waitFor();
  await row(1).getByText('open, but rollout 2 reaches all devices').waitFor();
  await row(2).getByRole('button', { name: 'Hold' }).click();
  await dialog().getByText('Devices that have version 2 return to version 1').waitFor();
  await confirm(page, 'Keep it as it is');
  assert.equal((await api(page, LIST))[0].held ?? null, null);
  await row(2).getByRole('button', { name: 'Hold' }).click();
  await confirm(page, 'Hold the rollout');
  await row(2)
    .getByText(/^held: /)
    .waitFor();
  assert.equal((await fetchModel('good')).version, 1);
});

test('a viewer sees rollouts, and is offered no change', { timeout: 60_000 }, async () => {
  await browser.context.clearCookies();
  const viewer = await signIn(browser, coordinator, (await coordinator.command('key', 'create', 'viewer', '--role', 'viewer')).api_key);
  await open('clients/digits', viewer);
  await row(2, viewer)
    .getByText(/^held: /)
    .waitFor();
  for (const path of ['clients/digits', `tasks/${task.id}`]) {
    await open(path, viewer);
    assert.equal(await viewer.getByRole('button', { name: /^(Roll out|Share|Hold|Resume)/ }).count(), 0, path);
  }
});
