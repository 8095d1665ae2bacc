/** Tests the package as an app installs it: packed, in an empty folder, and built with each bundler. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';

import { BUNDLERS, faultsOfTypes, installedApp } from './support/bundled.mjs';
import { examples } from './support/digits.mjs';
import { root } from './support/paths.mjs';
import { worldOfTests } from './support/world.mjs';

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

test('options, events and trainers are typed, and their names are in camelCase', OPTIONS, async () => {
  const script = `import { Folkmoot, type Trained, type Trainer } from '@folkmoot/browser';

const trainer: Trainer = {
  exampleCount: () => 10,
  train: async ({ weights, plan, isAsked }): Promise<Trained> => {
    weights['bias']?.values.fill(isAsked ? 0 : plan.training.epochs);
    return { weights, exampleCount: 10, loss: 0.5 };
  },
};
const coordinator = 'https://coordinator.example';
const client = await Folkmoot.connect({ coordinator, trainer, askBefore: ({ roundNumber }) => roundNumber > 1 });
client.on('round', ({ roundNumber, report }) => console.log(roundNumber.toFixed(), report.uploadBytes.toFixed()));
client.on('backingOff', ({ until }) => console.log(until.toFixed()));
// @ts-expect-error Without a trainer, the form of an example is needed.
await Folkmoot.connect({ coordinator });
// @ts-expect-error This is the coordinator's name.
client.on('round', ({ round_number }) => console.log(round_number));
`;
  assert.deepEqual(await faultsOfTypes(app.folder, script), []);
});

test('the programs of the guide have no faults of types', OPTIONS, async () => {
  const guide = await readFile(`${root}docs/guides/browser.md`, 'utf8');
  const imported = "import { Folkmoot } from '@folkmoot/browser';\n";
  const programs = [...guide.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => `{\n${program.replace(imported, '')}}\n`);
  assert.ok(programs.length > 2);
  // The guide leaves these to the app.
  const known = `import { Folkmoot, type Trainer } from '@folkmoot/browser';
declare const pixels: number[], x: number[][], y: number[], coordinator: string, enrolmentToken: string;
declare const examples: { shape: number[] };
declare const trainOneEpoch: (weight: Float32Array, bias: Float32Array, x: number[][], y: number[]) => number;
`;
  const script = known + programs.join('').replace('const trainer = {', 'const trainer: Trainer = {');
  assert.deepEqual(await faultsOfTypes(app.folder, script), []);
});

for (const [name, serve] of Object.entries(BUNDLERS)) {
  test(`${name}: an installed app takes part in a round`, OPTIONS, async () => {
    const { id } = await world.coordinator.task({ rounds: 1 });
    const served = await serve(app.folder);
    try {
      const { roundNumber, report } = await takePart(served);
      assert.equal(roundNumber, 1);
      assert.ok(report.uploadBytes > 19_000, `${report.uploadBytes} bytes`);
      await world.coordinator.committed(id, 1);
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
