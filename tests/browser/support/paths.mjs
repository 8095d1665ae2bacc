/** Paths in the repository, and paths of external programs. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const packageFolder = `${root}wasm/js/dist`;

/** Returns the path of the `folkmoot` program: `FOLKMOOT_BIN`, or the debug build. */
export function folkmoot() {
  const target = process.env.CARGO_TARGET_DIR ?? `${root}target`;
  const path = process.env.FOLKMOOT_BIN ?? `${target}/debug/folkmoot`;
  if (!existsSync(path)) {
    throw new Error(`${path} does not exist. Build it with \`cargo build --workspace\`, or set FOLKMOOT_BIN`);
  }
  return path;
}

/** Returns the path of Chromium: `FOLKMOOT_CHROMIUM`, or the system's. */
export function chromium() {
  const known = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const path = process.env.FOLKMOOT_CHROMIUM ?? known.find((candidate) => existsSync(candidate));
  if (path === undefined) {
    throw new Error('Chromium is missing. Install it, or set FOLKMOOT_CHROMIUM to its path');
  }
  return path;
}
