/** Follows the tutorials with JavaScript in docs/tutorials: their commands, files and pages, in the order of the page. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { openBrowser } from './support/browser.mjs';
import { startCoordinator } from './support/coordinator.mjs';
import { folkmoot, root } from './support/paths.mjs';
import { serveSite } from './support/site.mjs';

const execute = promisify(execFile);
const TUTORIALS = `${root}docs/tutorials/`;
/** The time limit of a command. */
const PATIENCE_MILLISECONDS = 60_000;
const PRINTED_PAGE = 'http://127.0.0.1:8000';
const PRINTED_COORDINATOR = 'http://127.0.0.1:8443';

const names = (await readdir(TUTORIALS)).filter((name) => name.endsWith('.md'));
const texts = await Promise.all(names.map((name) => readFile(TUTORIALS + name, 'utf8')));
const pages = names.map((name, index) => [name, texts[index]]).filter(([, text]) => text.includes('```js\n'));

/** A folder that looks like a clone in which the program and the package have been built, with what the reader of a tutorial starts. */
class Reader {
  constructor(folder) {
    Object.assign(this, { folder, known: new Map(), coordinator: null, site: null, printed: '' });
  }

  async open() {
    await Promise.all(['examples', 'wasm'].map((name) => symlink(root + name, `${this.folder}/${name}`)));
    await mkdir(`${this.folder}/target/release`, { recursive: true });
    await symlink(folkmoot(), `${this.folder}/target/release/folkmoot`);
    this.site = await serveSite('http://127.0.0.1:*', [['/', `${this.folder}/page/`]]);
  }

  async close() {
    await this.coordinator?.close();
    await this.site?.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Replaces the addresses and the token of the page by those of this run. */
  filled(text) {
    return [...this.known].reduce((filled, [printed, value]) => filled.replaceAll(printed, value), text);
  }

  async command(command) {
    if (command.startsWith('folkmoot serve')) {
      assert.match(command, /--tls off --allow-origin http:\/\/127\.0\.0\.1:8000$/);
      this.coordinator = await startCoordinator(this.site.origin);
      this.known.set(PRINTED_COORDINATOR, this.coordinator.url).set(PRINTED_PAGE, this.site.origin);
      return;
    }
    // The stage has built the package, and this test has its own web server.
    if (/^(cargo xtask wasm|python3 -m http\.server|export )/.test(command)) return;
    const variables = Object.entries(process.env).filter(([name]) => !name.startsWith('FOLKMOOT_'));
    const env = { ...Object.fromEntries(variables), PATH: `${this.folder}/target/release:${process.env.PATH}` };
    Object.assign(env, { FOLKMOOT_URL: this.coordinator?.url ?? '', FOLKMOOT_API_KEY: this.coordinator?.apiKey ?? '' });
    const options = { cwd: this.folder, env, timeout: PATIENCE_MILLISECONDS, killSignal: 'SIGKILL' };
    const { stdout } = await execute('bash', ['-euo', 'pipefail', '-c', command], options);
    this.printed += stdout;
    if (command.startsWith('folkmoot token create')) {
      this.known.set("enrolmentToken: '…'", `enrolmentToken: '${stdout.split(/\s/)[0]}'`);
    }
  }

  async write(block) {
    const name = block.match(/^(?:\/\/|<!--) (\S+)/)[1];
    await mkdir(dirname(`${this.folder}/${name}`), { recursive: true });
    await writeFile(`${this.folder}/${name}`, this.filled(block));
  }
}

for (const [name, text] of pages) {
  test(`the tutorial ${name} works as printed`, { timeout: 120_000 }, async () => {
    const reader = new Reader(await mkdtemp(`${tmpdir()}/folkmoot-tutorial-`));
    const browser = await openBrowser();
    try {
      await reader.open();
      for (const [, language, block] of text.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
        if (language === 'sh') {
          for (const command of block.trim().split('\n')) await reader.command(command);
        } else if (language === 'text') {
          const page = await browser.page(reader.site.origin);
          await page.getByRole('button').click();
          const words = block
            .trim()
            .split('…')
            .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
          await page
            .getByRole('status')
            .filter({ hasText: new RegExp(`^${words.join('.*')}$`) })
            .waitFor();
        } else {
          await reader.write(block);
        }
      }
      const [, accuracy] = reader.printed.match(/^accuracy +([0-9.]+) %$/m);
      assert.ok(Number(accuracy) > 75, `${accuracy} %`);
    } finally {
      await browser.close();
      await reader.close();
    }
  });
}

test('some tutorial has JavaScript', () => assert.ok(pages.length > 0));
