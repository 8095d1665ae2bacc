/** Serves a static site with a strict content security policy, like an app that serves the package. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, normalize } from 'node:path';

import { packageFolder, root } from './paths.mjs';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/** URL prefixes, each with the folder that is served under it. The first matching prefix applies. */
const FOLDERS = [
  ['/folkmoot/', `${packageFolder}/`],
  ['/examples/', `${root}examples/`],
  ['/tensorflow/', `${root}tests/browser/node_modules/@tensorflow/`],
  ['/golden/', `${root}tests/golden/`],
  ['/', `${root}tests/browser/pages/`],
];

/** Returns the policy of `docs/guides/browser.md`. It forbids inline scripts, and allows eval only for WebAssembly. */
function policy(coordinator) {
  return [
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "img-src 'self' data:",
    "worker-src 'self'",
    `connect-src 'self' ${coordinator}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

/**
 * Serves folders until `close` is called. `coordinator` is the only other origin to which pages may connect.
 */
export async function serveSite(coordinator = '', folders = FOLDERS) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://site').pathname);
    const [prefix, folder] = folders.find(([prefix]) => path.startsWith(prefix));
    const file = folder + path.slice(prefix.length);
    try {
      const bytes = await readFile(file.endsWith('/') ? `${file}index.html` : file);
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? TYPES['.html'],
        'content-security-policy': policy(coordinator),
        'cache-control': 'no-store',
      });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}
