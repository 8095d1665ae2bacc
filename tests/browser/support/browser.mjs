/** Starts headless Chromium with a new profile. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { chromium as driver } from 'playwright-core';

import { chromium } from './paths.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--enable-unsafe-webgpu',
  '--js-flags=--expose-gc',
];

/** Starts a browser, with an extension from a folder if there is one. `close` stops it and deletes its profile. */
export async function openBrowser({ extension } = {}) {
  const profile = await mkdtemp(`${tmpdir()}/folkmoot-browser-`);
  const options = { executablePath: chromium(), headless: true, args: [...FLAGS] };
  if (extension !== undefined) {
    options.args.push(`--disable-extensions-except=${extension}`, `--load-extension=${extension}`);
    options.ignoreDefaultArgs = ['--disable-extensions'];
  }
  const remove = () => rm(profile, { recursive: true, force: true, maxRetries: 5 });
  const context = await driver.launchPersistentContext(profile, options).catch(async (error) => {
    await remove();
    throw error;
  });
  context.setDefaultTimeout(60_000);
  return {
    context,
    /** Opens a page, and prints the page's errors and warnings. */
    async page(url) {
      const page = await context.newPage();
      page.on('pageerror', (error) => console.log(`page: ${error}`));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) {
          console.log(`page: ${message.text()}`);
        }
      });
      await page.goto(url);
      return page;
    },
    async close() {
      await context.close();
      await remove();
    },
  };
}
