/** Opens a site, a coordinator and a browser for the tests of a file, and pages with clients. */

import { after, afterEach, before, beforeEach } from 'node:test';

import { openBrowser } from './browser.mjs';
import { startCoordinator } from './coordinator.mjs';
import { cuttable } from './cuttable.mjs';
import { examples } from './digits.mjs';
import { serveSite } from './site.mjs';

/**
 * Opens the site, the coordinator and the browser. `close` closes them. The coordinator allows the site's origin, or any.
 */
export async function openWorld({ anyOrigin = false } = {}) {
  // The site's policy contains the coordinator's address, and the coordinator's settings contain the site's origin. So
  // one of the two must start first.
  const opened = [];
  const keep = async (opening) => {
    const part = await opening;
    opened.push(part);
    return part;
  };
  /** Closes everything in reverse order. If something cannot be closed, the rest is still closed. */
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
    coordinator = await keep(startCoordinator(anyOrigin ? '*' : site.origin));
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

    /** Opens a page with a client. The client has its own storage and `count` digits, from number `from` on. */
    async page({ from = 0, count = 200, name = `client-${(clients += 1)}`, ...options } = {}) {
      const page = await browser.page(site.origin);
      await page.waitForFunction(() => globalThis.isReady === true);
      const enrolmentToken = await coordinator.token();
      const all = { coordinator: network.url, enrolmentToken, device: 'cpu', name, ...options };
      await page.evaluate(([options, examples]) => open(options, examples), [all, examples(from, from + count)]);
      return Object.assign(page, { options: all });
    },

    /** Closes the pages that a failed test left open. Otherwise their clients would take part in the next test. */
    async closePages() {
      await Promise.all(browser.context.pages().map((page) => page.close()));
    },

    /** Prints the last events of the open pages. */
    async showLast() {
      for (const page of browser.context.pages()) {
        const last = await page.evaluate(() => (globalThis.told ?? []).slice(-10)).catch(() => []);
        last.forEach((event) => console.log(`the page heard ${JSON.stringify(event)}`));
      }
    },

    close,
  };
}

/** Creates the world for a file's tests. Each test gets a new population, and its pages are closed when it ends. */
export function worldOfTests(options = {}) {
  const world = {};
  before(async () => {
    Object.assign(world, await openWorld(options));
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

/** Reloads a page and connects its client again. The client's examples are still stored. */
export async function reload(page) {
  await page.reload();
  await page.waitForFunction(() => globalThis.isReady === true);
  await page.evaluate((options) => open(options, []), page.options);
}

/** Calls `probe` repeatedly until the result is not null, and returns that result. */
export async function until(probe, seconds = 30) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    const found = await probe();
    if (found !== null) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`the awaited condition did not hold within ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/**
 * Repeats `check` until it passes, because a page can lag behind the coordinator. After `seconds`, throws the last
 * error of `check`.
 */
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
