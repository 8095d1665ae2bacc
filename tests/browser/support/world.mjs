/** A site, a coordinator and a browser for the tests of a file, and pages with a client in them. */

import { after, afterEach, before, beforeEach } from 'node:test';

import { openBrowser } from './browser.mjs';
import { startCoordinator } from './coordinator.mjs';
import { cuttable } from './cuttable.mjs';
import { examples } from './digits.mjs';
import { serveSite } from './site.mjs';

/** Opens everything; `close` ends it. */
export async function openWorld() {
  // The page's policy names the coordinator, and the coordinator names the page: one of both comes first.
  const opened = [];
  const keep = async (opening) => {
    const part = await opening;
    opened.push(part);
    return part;
  };
  /** Closes what was opened, the last first; one that cannot be closed does not keep the others open. */
  const close = async () => {
    const problems = [];
    for (const part of opened.splice(0).reverse()) {
      await part.close().catch((problem) => problems.push(problem));
    }
    if (problems.length > 0) {
      throw problems[0];
    }
  };
  let site, coordinator, network, browser;
  try {
    site = await keep(serveSite('http://127.0.0.1:*'));
    coordinator = await keep(startCoordinator(site.origin));
    network = await keep(cuttable(() => coordinator.url));
    browser = await keep(openBrowser());
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
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

    /** Closes the pages that a test left open, as one that fails does: they would take part in the next. */
    async closePages() {
      await Promise.all(browser.context.pages().map((page) => page.close()));
    },

    /** Shows what the pages that are open heard last. */
    async showLast() {
      for (const page of browser.context.pages()) {
        const last = await page.evaluate(() => (globalThis.told ?? []).slice(-10)).catch(() => []);
        last.forEach((event) => console.log(`the page heard ${JSON.stringify(event)}`));
      }
    },

    close,
  };
}

/** The world of a file's tests: a population for each of them, and nothing stays open. */
export function worldOfTests() {
  const world = {};
  before(async () => {
    Object.assign(world, await openWorld());
  });
  beforeEach(() => world.coordinator.newPopulation());
  afterEach(async ({ passed }) => {
    if (!passed) {
      await world.showLast();
    }
    await world.closePages();
  });
  after(() => world.close?.());
  return world;
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

/** Checks until it holds, as what a page shows comes later than what the coordinator knows; else fails as it last did. */
export async function holds(check, seconds = 30) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    try {
      return await check();
    } catch (failure) {
      if (Date.now() > end) {
        throw failure;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
