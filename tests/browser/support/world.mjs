/** A site, a coordinator and a browser for the tests of a file, and pages with a client in them. */

import { openBrowser } from './browser.mjs';
import { startCoordinator } from './coordinator.mjs';
import { cuttable } from './cuttable.mjs';
import { examples } from './digits.mjs';
import { serveSite } from './site.mjs';

/** Opens everything; `close` ends it. */
export async function openWorld() {
  // The page's policy names the coordinator, and the coordinator names the page: one of both comes first.
  const site = await serveSite('http://127.0.0.1:*');
  const coordinator = await startCoordinator(site.origin);
  const network = await cuttable(coordinator.port);
  const browser = await openBrowser();
  let clients = 0;
  return {
    site,
    coordinator,
    network,
    browser,

    /** Opens a page with a client on its own part of the storage; it holds `count` digits. */
    async page({ count = 200, name = `client-${(clients += 1)}`, ...options } = {}) {
      const page = await browser.page(site.origin);
      await page.waitForFunction(() => globalThis.isReady === true);
      const enrolmentToken = await coordinator.token();
      const all = { coordinator: network.url, enrolmentToken, device: 'cpu', name, ...options };
      await page.evaluate(([options, examples]) => open(options, examples), [all, examples(0, count)]);
      return Object.assign(page, { options: all });
    },

    async close() {
      await browser.close();
      await network.close();
      await coordinator.close();
      await site.close();
    },
  };
}

/** Loads a page anew, as a user does, and connects its client again, which has its examples already. */
export async function reload(page) {
  await page.reload();
  await page.waitForFunction(() => globalThis.isReady === true);
  await page.evaluate((options) => open(options, []), page.options);
}

/** Asks until the answer is not null. */
export async function until(probe, seconds = 30) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const found = await probe();
    if (found !== null) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error('it did not happen');
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
