/** Tests the package as an app installs it: packed, in an empty folder, and built with each bundler. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { BUNDLERS, installedApp } from './support/bundled.mjs';
import { examples } from './support/digits.mjs';
import { until, worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 60_000 };

const world = worldOfTests({ anyOrigin: true });
let app;
before(async () => {
  app = await installedApp();
});
after(() => app?.remove());

/** Opens the app's page and lets it take part in a task. Returns the event of its first round. */
async function takePart({ origin, options = {} }) {
  const { coordinator } = world;
  const page = await world.browser.page(origin);
  await page.waitForFunction(() => globalThis.isReady === true);
  const all = { coordinator: coordinator.url, enrolmentToken: await coordinator.token(), device: 'cpu', waitSeconds: 5, ...options };
  return page.evaluate(([options, examples]) => takePart(options, examples), [all, examples(0, 50)]);
}

test('the package has its licences, its types and every module', () => {
  const modules = ['cpu', 'gpu', 'complete', 'masks'].flatMap((name) => [`dist/${name}/folkmoot.js`, `dist/${name}/folkmoot_bg.wasm`]);
  const files = ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'dist/index.d.ts', 'dist/worker.js', ...modules];
  assert.deepEqual(
    files.filter((file) => !app.packed.includes(file)),
    [],
  );
});

for (const [name, serve] of Object.entries(BUNDLERS)) {
  test(`${name}: an installed app takes part in a round`, OPTIONS, async () => {
    const { id } = await world.coordinator.task({ rounds: 1 });
    const served = await serve(app.folder);
    try {
      const { roundNumber, report } = await takePart(served);
      assert.equal(roundNumber, 1);
      assert.ok(report.uploadBytes > 19_000, `${report.uploadBytes} bytes`);
      await until(async () => ((await world.coordinator.rounds(id)).length === 1 ? true : null));
    } finally {
      await world.closePages();
      await served.close();
    }
  });
}

test('a worker that cannot be loaded is explained, with a remedy', OPTIONS, async () => {
  const served = await BUNDLERS.esbuild(app.folder);
  try {
    for (const [workerUrl, words] of [
      [
        undefined,
        /^FolkmootError: the worker could not be loaded from where the bundler has put it\. Copy the folder `dist` .* `workerUrl`/,
      ],
      ['/missing.js', /could not be loaded from \/missing\.js/],
      ['https://elsewhere.example/worker.js', /could not be started: SecurityError/],
    ]) {
      await assert.rejects(takePart({ ...served, options: { workerUrl } }), ({ message }) =>
        words.test(message.replace(/^.*?(?=Folkmoot)/s, '')),
      );
      await world.closePages();
    }
  } finally {
    await served.close();
  }
});
