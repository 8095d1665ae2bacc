/**
 * Tests clients in four languages in the same rounds: a page, a Kotlin program, a Python program and the native client.
 *
 * `cargo xtask test --only languages` sets the variables. FOLKMOOT_PYTHON_PACKAGE is a Python interpreter with the
 * wheel, FOLKMOOT_KOTLIN_BUILD is Maven's build folder, and FOLKMOOT_KOTLIN_NATIVE is the folder of the native library.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

import { end } from './support/coordinator.mjs';
import { lines } from './support/digits.mjs';
import { root } from './support/paths.mjs';
import { until, worldOfTests } from './support/world.mjs';

const ROUNDS = 2;
const world = worldOfTests();

/** Starts a program that prints a line for each round. The result's `rounds` is the number of these lines. */
function program(name, command, flags, isRound) {
  const child = spawn(command, flags, { cwd: world.coordinator.folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const started = { name, rounds: 0, end: () => end(child, 'SIGTERM') };
  createInterface({ input: child.stdout }).on('line', (line) => {
    started.rounds += isRound(line) ? 1 : 0;
  });
  return started;
}

function named(variable) {
  const value = process.env[variable];
  assert.ok(value, `${variable} is not set. Run \`cargo xtask test --only languages\``);
  return value;
}

async function python() {
  const { coordinator } = world;
  const script = `${root}tests/browser/support/python_client.py`;
  const flags = [coordinator.url, await coordinator.token(), `${coordinator.folder}/python`, `${root}examples/digits/digits.csv`];
  return program('Python', named('FOLKMOOT_PYTHON_PACKAGE'), [script, ...flags], (line) => line.startsWith('round'));
}

async function kotlin() {
  const { coordinator } = world;
  const build = named('FOLKMOOT_KOTLIN_BUILD');
  const libraries = readFileSync(`${build}/classpath.txt`, 'utf8').trim();
  const classes = [`${build}/test-classes`, `${build}/classes`, libraries].join(':');
  const properties = [`-Djna.library.path=${named('FOLKMOOT_KOTLIN_NATIVE')}`, `-Dfolkmoot.repository=${root}`];
  const flags = [coordinator.url, `${coordinator.folder}/kotlin`, await coordinator.token(), '-', 'engine'];
  return program('Kotlin', 'java', ['-cp', classes, ...properties, 'org.folkmoot.ChildKt', ...flags], (line) => line === 'Round');
}

test('clients in four languages are in the same rounds, and they commit', { timeout: 180_000 }, async () => {
  const { coordinator } = world;
  const programs = [];
  try {
    programs.push(await python(), await kotlin());
    const native = coordinator.nativeClient(await coordinator.token(), 'native', lines.slice(0, 200));
    programs.push({
      name: 'native',
      end: () => native.end(),
      get rounds() {
        return native.events.filter(({ event }) => event === 'accepted').length;
      },
    });
    const page = await world.page();
    await page.evaluate(() => client.start());
    const task = await coordinator.task({ scheduling: { reportGoal: 4 }, rounds: ROUNDS });
    const rounds = await until(async () => {
      const committed = await coordinator.rounds(task.id);
      return committed.length === ROUNDS ? committed : null;
    }, 120);
    assert.deepEqual(
      rounds.map(({ accepted }) => accepted),
      Array(ROUNDS).fill(4),
    );
    await page.evaluate((last) => heard('round', last), ROUNDS - 1);
    // Each round needs all four clients, and each client must report that it took part in every round.
    for (const one of programs) {
      await until(async () => (one.rounds === ROUNDS ? true : null)).catch(() => {
        assert.fail(`${one.name} was in ${one.rounds} rounds`);
      });
    }
    await page.evaluate(() => client.forget());
  } finally {
    await Promise.all(programs.map((one) => one.end()));
  }
});
