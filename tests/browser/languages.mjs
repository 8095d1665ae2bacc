/**
 * Tests clients in four languages in the same rounds, with masks and without: a page, a Kotlin program, a Python program
 * and the native client.
 *
 * `cargo xtask test --only languages` sets the variables. FOLKMOOT_PYTHON_PACKAGE is a Python interpreter with the
 * wheel, FOLKMOOT_KOTLIN_BUILD is Maven's build folder, and FOLKMOOT_KOTLIN_NATIVE is the folder of the native library.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { end } from './support/coordinator.mjs';
import { lines } from './support/digits.mjs';
import { Lines } from './support/lines.mjs';
import { root } from './support/paths.mjs';
import { worldOfTests } from './support/world.mjs';

const OPTIONS = { timeout: 240_000 };
const ROUNDS = 2;
/** The settings of a task with masks. No client may vanish. */
const MASKS = `[aggregator]
kind = "weighted_mean"
[protection.secure_aggregation]
corrupt_share = 0.0
dropout_share = 0.0
step_deadline_seconds = 3600`;

const world = worldOfTests();

/** Starts a program that prints a line for each round. `isRound` recognises these lines. */
function program(name, command, flags, isRound) {
  const child = spawn(command, flags, { cwd: world.coordinator.folder, stdio: ['ignore', 'pipe', 'inherit'] });
  return { name, said: new Lines().follow(child.stdout), isRound, end: () => end(child, 'SIGTERM') };
}

/** Returns the folder for the state of a client. Every test has clients of its own. */
function state(name) {
  return `${world.coordinator.folder}/${world.coordinator.population}-${name}`;
}

function named(variable) {
  const value = process.env[variable];
  assert.ok(value, `${variable} is not set. Run \`cargo xtask test --only languages\``);
  return value;
}

async function python() {
  const { coordinator } = world;
  const script = `${root}tests/browser/support/python_client.py`;
  const flags = [coordinator.url, await coordinator.token(), state('python'), `${root}examples/digits/digits.csv`];
  return program('Python', named('FOLKMOOT_PYTHON_PACKAGE'), [script, ...flags], (line) => line.startsWith('round'));
}

async function kotlin() {
  const { coordinator } = world;
  const build = named('FOLKMOOT_KOTLIN_BUILD');
  const libraries = readFileSync(`${build}/classpath.txt`, 'utf8').trim();
  const classes = [`${build}/test-classes`, `${build}/classes`, libraries].join(':');
  const properties = [`-Djna.library.path=${named('FOLKMOOT_KOTLIN_NATIVE')}`, `-Dfolkmoot.repository=${root}`];
  const flags = [coordinator.url, state('kotlin'), await coordinator.token(), '-', 'engine'];
  return program('Kotlin', 'java', ['-cp', classes, ...properties, 'org.folkmoot.ChildKt', ...flags], (line) => line === 'Round');
}

async function native() {
  const { coordinator } = world;
  const client = coordinator.nativeClient(await coordinator.token(), `${coordinator.population}-native`, lines.slice(0, 200));
  return { name: 'native', ...client, isRound: (line) => JSON.parse(line).event === 'accepted' };
}

/** Trains a task with these settings, whose rounds need all four clients. Returns the log of the page's client. */
async function train(settings) {
  const { coordinator } = world;
  const programs = [];
  try {
    programs.push(await python(), await kotlin(), await native());
    const page = await world.page();
    await page.evaluate(() => client.start());
    const scheduling = { reportGoal: 4, deadlineSeconds: 3600 };
    const task = await coordinator.task({ scheduling, rounds: ROUNDS, settings });
    const rounds = await coordinator.committed(task.id, ROUNDS);
    assert.deepEqual(
      rounds.map(({ accepted }) => accepted),
      Array(ROUNDS).fill(4),
    );
    await page.evaluate((last) => heard('round', last), ROUNDS - 1);
    // Each round needs all four clients, and each client must report that it took part in every round.
    for (const { name, said, isRound } of programs) {
      await said.until(`round ${ROUNDS} of the client ${name}`, () => (said.all.filter(isRound).length === ROUNDS ? true : null));
    }
    const log = await page.evaluate(() => client.log());
    await page.evaluate(() => client.forget());
    return log;
  } finally {
    await Promise.all(programs.map((one) => one.end()));
  }
}

/** Returns how many messages of secure aggregation a client has sent. */
function masking(log) {
  return log.filter(({ action, detail }) => action === 'sent' && detail.startsWith('secure aggregation')).length;
}

test('clients in four languages are in the same rounds, and they commit', OPTIONS, async () => {
  assert.equal(masking(await train('')), 0);
});

test('clients in four languages mask their updates in the same rounds, and they commit', OPTIONS, async () => {
  // In each round, a client sends keys, shares and an opening.
  assert.equal(masking(await train(MASKS)), 3 * ROUNDS);
});
