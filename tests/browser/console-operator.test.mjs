/** Tests the first views of an operator in the console: the state of each task, its curves, the list, and the guide. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { api, screenshot, settled, signIn } from './support/console.mjs';
import { fact, MODEL } from './support/console_forms.mjs';
import { startCoordinator } from './support/coordinator.mjs';
import { holds, until } from './support/world.mjs';

let coordinator, browser, page, task;

before(async () => {
  coordinator = await startCoordinator('https://nobody.example');
  browser = await openBrowser();
  page = await signIn(browser, coordinator);
  await page.getByRole('button', { name: 'Start the digits demo' }).click();
  await page.getByRole('heading', { level: 1, name: 'digits' }).waitFor();
  task = page.url().split('/').at(-1);
  await coordinator.committed(task, 12);
  await coordinator.command('task', 'pause', task);
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
});

async function open(path) {
  await page.goto(`${coordinator.url}/console/${path}`);
  await settled(page);
}

/** Drags across the first chart of the page, from a quarter to the middle of it. */
async function drag(chart) {
  const box = await chart.locator('.u-over').boundingBox();
  const at = (share) => [box.x + share * box.width, box.y + box.height / 2];
  await page.mouse.move(...at(0.25));
  await page.mouse.down();
  await page.mouse.move(...at(0.5), { steps: 3 });
  await page.mouse.up();
}

test('a task answers three questions, and its charts zoom, smooth and save what the API says', { timeout: 60_000 }, async () => {
  await open(`tasks/${task}`);
  for (const question of ['Is it learning?', 'Is it stuck?', 'Is it safe?']) {
    await page.getByText(question, { exact: true }).waitFor();
  }
  await page.locator('.questions').getByText('The accuracy while training is').waitFor();
  await page.getByRole('status', { name: 'Status' }).getByText('An operator paused it').waitFor();

  const [accuracy, loss] = ['Accuracy', 'Loss'].map((title) =>
    page.locator('figure.chart', { has: page.getByText(title, { exact: true }) }),
  );
  await drag(accuracy);
  // Charts over the same axis zoom together.
  await loss.getByRole('button', { name: 'Show all' }).click();
  await until(async () => ((await page.getByRole('button', { name: 'Show all' }).count()) === 0 ? true : null));
  await page.getByLabel('Smoothing').selectOption('strong');
  await accuracy.getByText('Accuracy while training, smoothed').waitFor();
  const saved = page.waitForEvent('download');
  await accuracy.getByRole('button', { name: 'Save Accuracy as CSV' }).click();
  const [head, ...rows] = (await readFile(await (await saved).path(), 'utf8')).trim().split('\r\n');
  assert.equal(head, 'Version,Accuracy while training (share)');
  const { points } = await api(page, `/tasks/${task}/series?points=600`);
  assert.deepEqual(
    rows,
    points.map(({ version, accuracy }) => `${version},${accuracy ?? ''}`),
  );
  const picture = page.waitForEvent('download');
  await accuracy.getByRole('button', { name: 'Save Accuracy as PNG' }).click();
  const bytes = await readFile(await (await picture).path());
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');

  await page.getByLabel('Compare version 12', { exact: true }).check();
  await page.getByLabel('Compare version 3', { exact: true }).check();
  const table = page.getByRole('region', { name: 'Versions 3 and 12' });
  await table.getByRole('cell', { name: 'accuracy while training' }).waitFor();
  assert.match(await table.locator('tbody tr').first().textContent(), /%.*%.*points/);
});

test('the guide turns answers into a task file, and says what they cost', { timeout: 60_000 }, async () => {
  await open('tasks/new');
  await page.getByRole('button', { name: 'I have a table' }).click();
  await page.getByText('folkmoot data schema').waitFor();
  await page.getByLabel('ONNX file').setInputFiles(MODEL);
  await page.getByLabel('Name of the task').fill('guided');
  await page.getByLabel('Population of clients').fill('guided');
  await page.getByLabel('Updates in each version').fill('20');
  assert.equal(await fact(page, 'Sends about').textContent(), '19.24 kB', '4,810 parameters in float32');
  await page.getByRole('radio', { name: 'An eighth' }).check();
  await page.getByRole('radio', { name: 'A few organisations' }).check();
  await fact(page, 'Clients in a round').getByText('20 to get 20 updates').waitFor();
  assert.notEqual(await fact(page, 'Sends about').textContent(), '19.24 kB');
  const file = page.locator('pre.toml');
  await file.getByText('codec = "eden:4"').waitFor();
  for (const [answer, text] of [
    ['Each update, too', '[protection.secure_aggregation]'],
    ['Both, even from the coordinator', 'kind = "distributed"'],
    ['Each client’s part in the model', 'kind = "central"'],
  ]) {
    await page.getByRole('radio', { name: answer }).check();
    await file.getByText(text).waitFor();
    await page.getByText('No problems found.').waitFor();
  }
  await page.getByRole('radio', { name: 'The examples' }).check();
  await holds(async () => assert.doesNotMatch(await file.textContent(), /privacy|protection|aggregator/));
  await screenshot(page, 'guide');
  await page.getByRole('button', { name: 'Create the task' }).click();
  await page.getByRole('status', { name: 'Status' }).getByText('Waits for 20 of 20 clients until').waitFor();
});

test('the overview, the list and the comparison show every task with its curve', { timeout: 60_000 }, async () => {
  await open('');
  const card = page.getByRole('article').filter({ has: page.getByRole('link', { name: 'digits', exact: true }) });
  await card.getByText('An operator paused it').waitFor();
  await card.getByRole('img', { name: /^accuracy over \d+ versions$/ }).waitFor();
  await page.getByText('1 task needs you').waitFor();

  await open('tasks');
  const names = async () => page.locator('.long-body [role=row] a').allTextContents();
  await until(async () => ((await names()).join() === 'guided,digits' ? true : null));
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  await until(async () => ((await names()).join() === 'digits,guided' ? true : null));
  await page.getByLabel('State').selectOption('paused');
  await until(async () => ((await names()).join() === 'digits' ? true : null));
  await page.reload();
  await until(async () => ((await names()).join() === 'digits' ? true : null));
  assert.equal(new URL(page.url()).search, '?state=paused&sort=name');
  await page
    .getByRole('row', { name: /digits/ })
    .getByText(/^\d+\.\d %$/)
    .waitFor();

  await open(`tasks/compare/${task}`);
  await page.getByRole('heading', { name: 'Add a second task' }).waitFor();
  const [guided] = await api(page, '/tasks?name=guided');
  await page.getByLabel('Add a task').selectOption(guided.id);
  await page.getByRole('cell', { name: 'scheduling.report_goal' }).waitFor();
  assert.ok(page.url().endsWith(`${task},${guided.id}`), 'the address keeps the choice');
  await page.getByRole('button', { name: 'Remove guided' }).click();
  await page.getByRole('heading', { name: 'Add a second task' }).waitFor();
});

test('the browser remembers the density, and a phone has the navigation under the thumb', { timeout: 60_000 }, async () => {
  await open('tasks');
  const height = async () => (await page.locator('.long-body [role=row]').first().boundingBox()).height;
  const comfortable = await height();
  await page.getByLabel('Density').selectOption('compact');
  await until(async () => ((await height()) < comfortable ? true : null));
  await page.reload();
  await page.locator('.long-body [role=row]').first().waitFor();
  assert.ok((await height()) < comfortable);
  await page.getByLabel('Density').selectOption('comfortable');

  await page.setViewportSize({ width: 390, height: 844 });
  const places = page.getByRole('navigation', { name: 'Main' });
  const { y, height: tall } = await places.boundingBox();
  assert.ok(y > 700 && y + tall <= 844.5, `the navigation is at the bottom: ${y}`);
  const widths = await places.getByRole('link').evaluateAll((links) => links.map((link) => link.getBoundingClientRect().right));
  assert.ok(Math.max(...widths) <= 390, 'all places are in reach');
  assert.equal(await page.getByRole('button', { name: 'Sign out' }).isVisible(), false);
  await page.getByRole('button', { name: 'Settings of this page' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await places.getByRole('link', { name: 'Clients' }).click();
  await page.getByRole('heading', { level: 1, name: 'Clients' }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
});
