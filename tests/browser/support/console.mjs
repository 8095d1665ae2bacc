/** Helpers for tests of the console: signing in, API requests, waiting, and checks. */

import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { lines } from './digits.mjs';
import { root } from './paths.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const screenshots = process.env.FOLKMOOT_SCREENSHOTS ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/browser-screenshots/console`;

/** Opens the console and signs in. */
export async function signIn(browser, coordinator, apiKey = coordinator.apiKey) {
  const page = await browser.page(`${coordinator.url}/console/`);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  return page;
}

/** Sends an API request with the page's session. */
export async function api(page, path) {
  return page.evaluate(async (path) => (await fetch(`/v1/admin${path}`)).json(), path);
}

/** Resolves when a task has a later version than this. */
export function versionAfter(page, coordinator, task, version) {
  return coordinator.log.until(`a version after ${version}`, async () =>
    (await api(page, `/tasks/${task}`)).latest_version > version ? true : null,
  );
}

/** Resolves when a view has loaded all its data and has drawn it. */
export async function settled(page) {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('main .note[role=status]')].every((note) => !note.textContent.startsWith('Loading')),
  );
  await drawn(page);
}

/** Resolves after the page has drawn two frames, because drawing the first frame may request another one. */
export async function drawn(page) {
  await page.evaluate(async () => {
    for (const _ of [1, 2]) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  });
}

/** Starts native clients. Each has different digits. `end` stops the clients. */
export function natives(coordinator, token, count, name = 'native') {
  const started = Array.from({ length: count }, (_, index) =>
    coordinator.nativeClient(token, `${name}-${index}`, lines.slice(120 * index, 120 * (index + 1))),
  );
  return { end: () => Promise.all(started.map((client) => client.end())) };
}

/** Returns the accessibility faults that axe-core finds. */
export async function violations(page) {
  await page.evaluate(axe);
  // During a transition, a colour has neither the old nor the new contrast.
  await page.evaluate(() => {
    const ends = (one) => one.effect.getComputedTiming().endTime < Infinity;
    document
      .getAnimations()
      .filter(ends)
      .forEach((one) => one.finish());
  });
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html} (${node.failureSummary})`)
        .join(' | ')}`,
  );
}

/** Saves a screenshot of the whole page, or of a window that is `height` pixels high. */
export async function screenshot(page, name, height) {
  await mkdir(screenshots, { recursive: true });
  const path = `${screenshots}/${name}.png`;
  if (!height) return page.screenshot({ path, fullPage: true });
  const size = page.viewportSize();
  await page.setViewportSize({ ...size, height });
  await page.screenshot({ path });
  await page.setViewportSize(size);
}

/** Returns the rows of a chart's table as numbers. An empty cell becomes a gap. */
export async function chartRows(page, title) {
  const figure = page.locator('figure.chart', { has: page.locator('figcaption', { hasText: new RegExp(`^${title}$`) }) });
  await figure.waitFor();
  if ((await figure.locator('details[open]').count()) === 0) {
    await figure.locator('summary').click();
  }
  await figure.locator('details tbody tr').first().waitFor();
  const rows = await figure
    .locator('details tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.dataset.value ?? cell.textContent)));
  return rows.map((row) => row.map((text) => (text === '' ? null : Number(text))));
}
