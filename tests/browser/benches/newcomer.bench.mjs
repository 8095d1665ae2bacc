/**
 * A part of `cargo xtask bench newcomer`: installs the packed package and Vite in an empty folder with an empty cache,
 * and lets a page of Vite's development server take part in a round. Prints the seconds of each step as JSON. The
 * coordinator and the browser are ready before.
 */

import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { openBrowser } from '../support/browser.mjs';
import { writeApp } from '../support/bundled.mjs';
import { end, startCoordinator } from '../support/coordinator.mjs';
import { examples } from '../support/digits.mjs';

const [archive, folder] = process.argv.slice(2);
const execute = promisify(execFile);

async function timed(action) {
  const begun = performance.now();
  await action();
  return (performance.now() - begun) / 1000;
}

async function install() {
  const settings = JSON.parse(await readFile('package.json', 'utf8'));
  const flags = ['--no-audit', '--no-fund', '--cache', `${folder}/.npm-cache`];
  await execute('npm', ['install', ...flags, archive, `vite@${settings.devDependencies.vite}`], { cwd: folder });
}

/** Starts the development server, and returns its process and the address that it prints. */
async function develop() {
  const flags = ['node_modules/vite/bin/vite.js', '--host', '127.0.0.1', '--port', '0', '--clearScreen', 'false'];
  const child = spawn(process.execPath, flags, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
    if (found !== null) {
      return { child, origin: found[0] };
    }
  }
  throw new Error('Vite ended before it served');
}

const opened = [];
try {
  const coordinator = await startCoordinator('*');
  opened.push(() => coordinator.close());
  await coordinator.task({ rounds: 1 });
  const enrolmentToken = await coordinator.token();
  const browser = await openBrowser();
  opened.push(() => browser.close());
  await writeApp(folder);
  const installed = await timed(install);
  const trained = await timed(async () => {
    const { child, origin } = await develop();
    opened.push(() => end(child, 'SIGTERM'));
    const page = await browser.page(origin);
    await page.waitForFunction(() => globalThis.isReady === true);
    // This browser may emulate a GPU, on which a first step takes seconds.
    const options = { coordinator: coordinator.url, enrolmentToken, device: 'cpu' };
    await page.evaluate(([options, examples]) => takePart(options, examples), [options, examples(0, 200)]);
  });
  console.log(JSON.stringify({ 'npm install': installed, 'first round': trained }));
} finally {
  for (const close of opened.reverse()) {
    await close();
  }
}
