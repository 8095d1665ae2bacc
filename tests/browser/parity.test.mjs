/** Tests that WebGPU, WebAssembly and a native client produce the same update from the same training. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { root } from './support/paths.mjs';
import { serveSite } from './support/site.mjs';

const HEADER_BYTES = 112;
/**
 * The offset of the loss and the counts in the header. Like the values, they are sums of rounded numbers and are
 * compared with a tolerance.
 */
const SUMS_FROM = 80;
/**
 * The tolerance for a value of the update. It can be small, because the kernels sum in the same order on every device.
 */
const TOLERANCE = 1e-5;

let site, browser, page;

before(async () => {
  site = await serveSite();
  browser = await openBrowser();
  page = await browser.page(`${site.origin}/engine.html`);
  await page.waitForFunction(() => globalThis.isReady === true);
});

after(async () => {
  await browser?.close();
  await site?.close();
});

function values(bytes) {
  return new Float32Array(new Uint8Array(bytes.subarray(HEADER_BYTES)).buffer);
}

/** The modules that read each model, and where they train it. */
const SMALL = [
  ['cpu', false],
  ['gpu', false],
  ['gpu', true],
];
const COMPLETE = [
  ['complete', false],
  ['complete', true],
];

for (const [name, builds] of [
  ['mlp', SMALL],
  ['cnn', SMALL],
  ['scaled', COMPLETE],
]) {
  for (const [build, onDevice] of builds) {
    const where = onDevice ? `WebGPU (${build})` : `WebAssembly (${build})`;
    test(`${name}: ${where} makes a native client's update`, { timeout: 120_000 }, async () => {
      const made = await page.evaluate((argument) => engine('update', argument), { build, name, onDevice });
      assert.equal(made.fault, null);
      const found = Uint8Array.from(made.bytes);
      const native = new Uint8Array(await readFile(`${root}tests/golden/browser/${name}/update.bin`));
      assert.deepEqual(found.subarray(0, SUMS_FROM), native.subarray(0, SUMS_FROM), 'the headers');
      const expected = values(native);
      const largest = values(found).reduce((largest, value, index) => Math.max(largest, Math.abs(value - expected[index])), 0);
      console.log(`${name}, ${where}: differs by ${largest.toExponential(1)} at most`);
      assert.ok(largest <= TOLERANCE, `differs by ${largest}`);
      assert.ok(
        expected.some((value) => Math.abs(value) > 1e-2),
        'the update is not zero',
      );
    });
  }
}
