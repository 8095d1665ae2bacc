/** Starts `folkmoot demo --browser` with the newly built package, on any free port. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';

import { end, firstLine } from './coordinator.mjs';
import { Lines } from './lines.mjs';
import { folkmoot, packageFolder } from './paths.mjs';

/**
 * Starts the demo. The result has the page's address (`page`), the printed lines (`said`) and their events. `end`
 * stops the process; `close` also deletes its folder.
 */
export async function startDemo() {
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-demo-`);
  const flags = ['demo', '--browser', '--port', '0', '--package', packageFolder, '--out', folder, '--json'];
  const child = spawn(folkmoot(), flags, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const said = new Lines().follow(child.stdout);
  const demo = {
    said,
    page: null,
    events: () => said.all.map((line) => JSON.parse(line)),
    /** Stops the process with a signal and returns its exit code. */
    async end(signal) {
      await end(child, signal);
      return child.exitCode;
    },
    async close() {
      await end(child, 'SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    const served = await firstLine(child, ({ event }) => event === 'serving');
    demo.page = served.page;
  } catch (error) {
    await demo.close().catch(() => undefined);
    throw error;
  }
  return demo;
}
