/** Uses `folkmoot demo --browser` like a person, and saves screenshots to the target folder. */

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { startDemo } from './support/demo.mjs';
import { root } from './support/paths.mjs';

/** The folder of the screenshots. `FOLKMOOT_SCREENSHOTS=screenshots` replaces the committed ones. */
const FOLDER = process.env.FOLKMOOT_SCREENSHOTS ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/browser-screenshots`;

let demo, browser;

before(async () => {
  await mkdir(FOLDER, { recursive: true });
  demo = await startDemo();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await demo?.close();
});

/** Draws the digit one with the mouse. */
async function drawOne(page) {
  const pad = await page.locator('#pad').boundingBox();
  const point = (x, y) => [pad.x + x * pad.width, pad.y + y * pad.height];
  await page.mouse.move(...point(0.38, 0.35));
  await page.mouse.down();
  await page.mouse.move(...point(0.52, 0.2), { steps: 5 });
  await page.mouse.move(...point(0.52, 0.8), { steps: 10 });
  await page.mouse.up();
}

test('a person draws, labels, takes part, watches and gets predictions', { timeout: 120_000 }, async () => {
  const page = await browser.page(demo.page);
  await page.setViewportSize({ width: 1120, height: 1150 });
  await page.waitForSelector('html[data-ready=true]');
  await drawOne(page);
  await page.screenshot({ path: `${FOLDER}/1-before.png`, fullPage: true });
  await page.getByRole('button', { name: '1', exact: true }).click();
  await page.waitForFunction(() => document.querySelector('#held').textContent === '1 example here');
  await page.click('#starters');
  await page.waitForFunction(() => document.querySelector('#held').textContent === '201 examples here');
  await page.click('#agree');
  await page.waitForFunction(() => Number(document.querySelector('#rounds').textContent) >= 4);
  await page.screenshot({ path: `${FOLDER}/2-during.png`, fullPage: true });
  await page.waitForFunction(() => parseFloat(document.querySelector('#accuracy').textContent) > 60);
  const rounds = await demo.said.until('the second round', () => {
    const told = demo.events().filter(({ event }) => event === 'round');
    return told.length >= 2 ? told : null;
  });
  assert.ok(
    rounds.every(({ reports }) => reports === 4),
    'the page is in every round, and three clients',
  );
  await drawOne(page);
  // The demo's other clients are chosen at random, so the round in which the model first recognises a one varies.
  await page.waitForFunction(() => document.querySelector('#guess').textContent === '1');
  await page.click('#pause');
  await page.screenshot({ path: `${FOLDER}/3-after.png`, fullPage: true });
  assert.ok((await page.locator('#log tr').count()) > 3);
  assert.ok((await page.locator('#chart circle').count()) > 3);
  await page.click('#forget');
  await page.waitForSelector('#gate:not([hidden])');
  await page.waitForFunction(() => document.querySelector('#held').textContent === '0 examples here');
  await page.close();
  assert.equal(await demo.end('SIGINT'), 0, 'ctrl-c ends it in good order');
  assert.equal(demo.events().at(-1).event, 'stopped');
});
