/**
 * Looks at pages of the documentation as readers do: wide and narrow, light and dark, and with the search. The stage `docs` builds the site
 * and passes its folder.
 */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { drawn, screenshot, violations } from './support/console.mjs';
import { serveSite } from './support/site.mjs';

/** A page of each kind: the start page, a tutorial, a guide with wide tables, and generated ones. */
const PAGES = ['index', 'tutorials/first-model', 'guides/simulation', 'reference/cli/task', 'reference/rest/tasks'];
const WIDTHS = [390, 1024, 1440];

let site, browser;

before(async () => {
  const folder = process.env.FOLKMOOT_SITE;
  assert.ok(folder, 'FOLKMOOT_SITE is not set. Run `cargo xtask test --only docs`');
  site = await serveSite('', [['/', `${folder}/`]]);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await site?.close();
});

test('every kind of page is readable by everybody: axe-core, light and dark, at three widths', { timeout: 300_000 }, async () => {
  const page = await browser.page(`${site.origin}/index.html`);
  const problems = [];
  page.on('pageerror', (error) => problems.push(`a script failed: ${error}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(site.origin)) problems.push(`${page.url()} asks ${request.url()}`);
  });
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      for (const name of PAGES) {
        const where = `${name}, ${theme}, ${width}`;
        await page.goto(`${site.origin}/${name}.html`);
        await drawn(page);
        problems.push(...(await violations(page)).map((violation) => `${where}: ${violation}`));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (overflow > 1) problems.push(`${where}: ${overflow} pixels too wide`);
        await screenshot(page, `docs-${name.replaceAll('/', '-')}-${theme}-${width}`, 900);
      }
    }
  }
  assert.deepEqual(problems, []);
});

test('the search finds a heading without a network, and opens it', { timeout: 60_000 }, async () => {
  const page = await browser.page(`${site.origin}/guides/python.html`);
  await page.getByLabel('Search the documentation').fill('renew a certificate');
  await page.locator('.found').getByRole('link', { name: 'Renew a certificate' }).first().click();
  await page.waitForURL('**/guides/coordinator.html#renew-a-certificate');
  assert.ok(await page.getByRole('heading', { name: 'Renew a certificate' }).isVisible());
});

test('the chapters open on a phone, and the choice of colours stays', { timeout: 60_000 }, async () => {
  const page = await browser.page(`${site.origin}/index.html`);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'Menu' }).click();
  const chapters = page.getByRole('navigation', { name: 'Chapters' });
  await chapters.getByText('Tutorials').first().click();
  await chapters.getByRole('link', { name: 'Your first federated model' }).click();
  await page.waitForURL('**/tutorials/first-model.html');
  await page.getByRole('button', { name: 'Theme: auto' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
});
