/** Installs the package as an app does, and serves an app that each bundler has built. */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';

import { build as buildWithEsbuild } from 'esbuild';
import * as vite from 'vite';
import * as vite7 from 'vite-7';
import webpack from 'webpack';

import { root } from './paths.mjs';
import { serveSite } from './site.mjs';

const execute = promisify(execFile);
const PACKAGE = `${root}wasm/js`;
/** The name under which apps import the package. */
const NAME = '@folkmoot/browser';

/** Returns an app's page, and the script that it loads. */
function files(specifier) {
  const page = `<!doctype html><link rel="icon" href="data:," /><script type="module" src="/app.js"></script>`;
  const script = `import { Folkmoot } from '${specifier}';

globalThis.takePart = async (options, examples) => {
  const client = await Folkmoot.connect({ examples: { shape: [64] }, ...options });
  await client.examples.add(examples);
  await client.consent.give('I take part');
  const accepted = new Promise((resolve) => client.on('round', resolve));
  await client.start();
  const round = await accepted;
  await client.forget();
  return round;
};
globalThis.isReady = true;
`;
  return { 'index.html': page, 'app.js': script, 'package.json': '{ "private": true, "type": "module" }' };
}

/** Packs the package, and installs it in the folder of an app. `remove` deletes the folder. */
export async function installedApp() {
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-app-`);
  const { stdout } = await execute('npm', ['pack', '--json', '--pack-destination', folder], { cwd: PACKAGE });
  const [packed] = JSON.parse(stdout);
  await writeApp(folder);
  const flags = ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`];
  await execute('npm', flags, { cwd: folder });
  return { folder, packed: packed.files.map(({ path }) => path), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Writes the files of an app into its folder. */
export function writeApp(folder) {
  return write(folder, files(NAME));
}

/** Checks a TypeScript file of an app, and returns the compiler's faults. */
export async function faultsOfTypes(folder, text) {
  await writeFile(`${folder}/app.ts`, text);
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'es2022', '--moduleResolution', 'bundler', 'app.ts'];
  const checked = execute('node', [`${PACKAGE}/node_modules/typescript/bin/tsc`, ...flags], { cwd: folder });
  return checked.then(
    () => [],
    ({ stdout }) => stdout.trim().split('\n'),
  );
}

async function write(folder, files) {
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(`${folder}/${name}`, text)));
}

/**
 * The ways to serve an app, by name. Each gets the app's folder and returns the served origin, and `close`. The only
 * settings of a bundler are its input and its output. If a bundler does not find the worker, `options` are the options
 * that the guide gives for this case.
 */
export const BUNDLERS = {
  'the development server of Vite': (folder) => develop(vite, folder),
  'a build with Vite': (folder) => preview(vite, folder),
  'the development server of Vite 7': (folder) => develop(vite7, folder),
  'a build with Vite 7': (folder) => preview(vite7, folder),
  async webpack(folder) {
    const path = `${folder}/webpack`;
    const compiler = webpack({ mode: 'production', context: folder, entry: './app.js', output: { path, filename: 'app.js' } });
    const stats = await promisify(compiler.run.bind(compiler))();
    await promisify(compiler.close.bind(compiler))();
    if (stats.hasErrors()) {
      throw new Error(stats.toString({ all: false, errors: true }));
    }
    return serveBuilt(path);
  },
  async esbuild(folder) {
    const outdir = `${folder}/esbuild`;
    await buildWithEsbuild({ absWorkingDir: folder, entryPoints: ['app.js'], bundle: true, format: 'esm', outdir, logLevel: 'silent' });
    await cp(`${folder}/node_modules/${NAME}/dist`, `${outdir}/folkmoot`, { recursive: true });
    return { ...(await serveBuilt(outdir)), options: { workerUrl: '/folkmoot/worker.js' } };
  },
  async 'plain modules'(folder) {
    const path = `${folder}/plain`;
    await cp(`${folder}/node_modules/${NAME}/dist`, `${path}/folkmoot`, { recursive: true });
    await write(path, files('/folkmoot/index.js'));
    return serveSite('http://127.0.0.1:*', [['/', `${path}/`]]);
  },
};

async function develop({ createServer }, root) {
  const server = await createServer({ root, configFile: false, logLevel: 'error', server: { host: '127.0.0.1', port: 0 } });
  await server.listen();
  return { origin: originOf(server), close: () => server.close() };
}

async function preview({ build, preview }, root) {
  await build({ root, configFile: false, logLevel: 'error' });
  const server = await preview({ root, configFile: false, logLevel: 'error', preview: { host: '127.0.0.1', port: 0 } });
  return { origin: originOf(server), close: () => server.close() };
}

function originOf({ httpServer }) {
  return `http://127.0.0.1:${httpServer.address().port}`;
}

/** Serves a folder with a built `app.js` under the strict policy of the guide. */
async function serveBuilt(path) {
  await writeFile(`${path}/index.html`, files(NAME)['index.html']);
  return serveSite('http://127.0.0.1:*', [['/', `${path}/`]]);
}
