/** Where things lie in the repository, and what is started from outside it. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const packageFolder = `${root}wasm/js/dist`;

/** The `folkmoot` program: `FOLKMOOT_BIN`, or that of the debug build. */
export function folkmoot() {
  const target = process.env.CARGO_TARGET_DIR ?? `${root}target`;
  const path = process.env.FOLKMOOT_BIN ?? `${target}/debug/folkmoot`;
  if (!existsSync(path)) {
    throw new Error(`${path} is not there: build it with \`cargo build --workspace\`, or set FOLKMOOT_BIN`);
  }
  return path;
}

/** Chromium: `FOLKMOOT_CHROMIUM`, or the system's. */
export function chromium() {
  const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const path = process.env.FOLKMOOT_CHROMIUM ?? known.find((candidate) => existsSync(candidate));
  if (path === undefined) {
    throw new Error('there is no Chromium: install it, or set FOLKMOOT_CHROMIUM');
  }
  return path;
}
