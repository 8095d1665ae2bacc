/**
 * `node examples/browser-digits/serve.mjs`: a coordinator, a task that the page and simulated clients train together, and
 * the page. It needs Node and nothing else, the `folkmoot` program (`FOLKMOOT_BIN`, else that of the debug build), and the
 * package that `cargo xtask wasm` builds.
 */

import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
/** Digits that nobody trains on: the page measures with them. */
const HELD_OUT = 297;
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json', '.csv': 'text/csv' };

function program() {
  const path = process.env.FOLKMOOT_BIN ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/folkmoot`;
  if (!existsSync(path)) {
    throw new Error(`${path} is not there: run \`cargo build\`, or set FOLKMOOT_BIN`);
  }
  return path;
}

/** Serves the page, the package and the digits; `config` is what the page asks for. */
async function servePage(port, config) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://page').pathname);
    if (path === '/config.json') {
      response.writeHead(200, { 'content-type': TYPES['.json'], 'cache-control': 'no-store' });
      response.end(JSON.stringify(config));
      return;
    }
    const folders = [['/folkmoot/', `${root}wasm/js/dist/`], ['/digits.csv', `${root}examples/digits/digits.csv`], ['/', here]];
    const [prefix, folder] = folders.find(([prefix]) => path.startsWith(prefix));
    const file = folder + path.slice(prefix.length) + (path.endsWith('/') ? 'index.html' : '');
    try {
      const bytes = await readFile(file);
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'content-security-policy':
          `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src 'self' data:; ` +
          `connect-src 'self' ${config.coordinator ?? ''}; object-src 'none'; base-uri 'none'; form-action 'none'`,
        'cache-control': 'no-cache',
      });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return server;
}

/** Starts everything and returns the page's address; `close` ends it. */
export async function start({ port = 8080, natives = 3, rounds = 100 } = {}) {
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-browser-digits-`);
  const config = { digits: 'digits.csv' };
  const server = await servePage(port, config);
  const page = `http://127.0.0.1:${server.address().port}`;
  const flags = ['serve', '--json', '--data', `${folder}/data`, '--listen', '127.0.0.1:0', '--tls', 'off', '--log-level', 'warn'];
  const coordinator = spawn(program(), [...flags, '--allow-origin', page], { stdio: ['ignore', 'pipe', 'inherit'] });
  const children = [coordinator];
  const close = async () => {
    children.forEach((child) => child.kill('SIGKILL'));
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const lines = createInterface({ input: coordinator.stdout });
    const { value } = await lines[Symbol.asyncIterator]().next();
    if (value === undefined) {
      throw new Error('the coordinator did not start');
    }
    const { url, first_api_key: apiKey } = JSON.parse(value);
    const env = { ...process.env, FOLKMOOT_URL: url, FOLKMOOT_API_KEY: apiKey };
    const command = async (...flags) => JSON.parse((await execute(program(), [...flags, '--json'], { env })).stdout);
    const { token } = await command('token', 'create', 'digits');
    Object.assign(config, { coordinator: url, token });
    await writeFile(`${folder}/task.toml`, task(natives + 1, rounds));
    const model = `${root}examples/digits/model.onnx`;
    await command('task', 'create', `${folder}/task.toml`, '--model', model, '--activate');
    const digits = (await readFile(`${root}examples/digits/digits.csv`, 'utf8')).trim().split('\n').slice(0, -HELD_OUT);
    for (let native = 0; native < natives; native += 1) {
      const state = `${folder}/client-${native}`;
      await mkdir(state);
      await writeFile(`${state}.csv`, `${digits.filter((_, index) => index % natives === native).slice(0, 100).join('\n')}\n`);
      const flags = ['client', '--coordinator', url, '--token', token, '--data', `${state}.csv`, '--state', state, '--device', 'cpu', '--json'];
      children.push(spawn(program(), flags, { stdio: ['ignore', 'ignore', 'inherit'] }));
    }
    return { page, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A round waits for the page: it wants an update of everyone. */
function task(clients, rounds) {
  return `
name = "digits in a browser"
population = "digits"
[plan]
loss = "softmax_cross_entropy"
epochs = 2
batch_size = 16
optimizer = { sgd = { learning_rate = 0.05, momentum = 0.9 } }
[scheduling]
kind = "synchronous"
report_goal = ${clients}
over_selection_factor = 1.0
selection_deadline_seconds = 3600
reporting_deadline_seconds = 60
[stop]
rounds = ${rounds}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { page, close } = await start();
  console.log(`open ${page} in a browser; end with ctrl-c`);
  process.once('SIGINT', () => close().then(() => process.exit(0)));
}
