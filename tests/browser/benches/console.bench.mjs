/**
 * `cargo xtask bench console`: measures the console's loading times on a processor slowed down four times, its speed
 * with 10,000 tasks and a task of 100,000 rounds, and the growth of its memory while it shows live rounds. `--minutes
 * N` sets how long it watches live rounds (default 1). `--json` prints the figures as JSON.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { openBrowser } from '../support/browser.mjs';
import { api, natives, signIn } from '../support/console.mjs';
import { startCoordinator } from '../support/coordinator.mjs';

const isJson = process.argv.includes('--json');
const minutes = Number(process.argv[process.argv.indexOf('--minutes') + 1]) || 1;
const THROTTLE = 4;
const OPENINGS = 5;
const TASKS = 10_000;
const ROUNDS = 100_000;
const execute = promisify(execFile);

/**
 * A Python script that copies the task and its first round many times, so that the database looks as after years of
 * operation.
 */
const FILL = `
import sqlite3, sys, uuid
database = sqlite3.connect(sys.argv[1])
def copies(table, count, change):
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    [row] = database.execute(f"SELECT * FROM {table} LIMIT 1").fetchall()
    marks = ", ".join("?" for _ in columns)
    rows = (list(change(dict(zip(columns, row)), number).values()) for number in range(count))
    database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
def task(row, number):
    return row | {"id": str(uuid.uuid4()), "created_at": row["created_at"] - number - 1}
rounds = int(sys.argv[3])
last = database.execute("SELECT MAX(number) FROM rounds").fetchone()[0]
def round(row, number):
    return row | {"id": str(uuid.uuid4()), "number": last + 1 + number, "is_open": 0, "phase_name": "abandoned",
                  "phase": '{"kind":"abandoned","at":%d,"reason":"too_few_clients"}' % row["created_at"]}
copies("tasks", int(sys.argv[2]), task)
copies("rounds", rounds, round)
database.commit()
`;

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/**
 * Returns the time in milliseconds from the start of the navigation until the view shows its data, by the page's clock.
 */
async function opening(page, url, selector) {
  const times = [];
  for (let index = 0; index < OPENINGS; index++) {
    await page.goto(url, { waitUntil: 'commit' });
    await page.locator(selector).first().waitFor();
    times.push(await page.evaluate(() => performance.now()));
  }
  return median(times);
}

async function heap(session) {
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'JSHeapUsedSize').value;
}

const coordinator = await startCoordinator('https://nobody.example');
const browser = await openBrowser();
const figures = {};
try {
  const task = await coordinator.task({ rounds: 1_000_000, scheduling: { reportGoal: 2 } });
  const clients = natives(coordinator, await coordinator.token(), 3);
  await coordinator.committed(task.id, 6);
  const page = await signIn(browser, coordinator);
  const session = await browser.context.newCDPSession(page);
  await session.send('Performance.enable');

  // Memory while the console shows live rounds.
  await page.goto(`${coordinator.url}/console/tasks/${task.id}`);
  await page.getByRole('heading', { name: 'Rounds', exact: true }).waitFor();
  await page.waitForTimeout(10_000);
  const start = { bytes: await heap(session), version: (await api(page, `/tasks/${task.id}`)).latest_version };
  await page.waitForTimeout(60_000 * minutes);
  const end = { bytes: await heap(session), version: (await api(page, `/tasks/${task.id}`)).latest_version };
  figures.live = { minutes, rounds: end.version - start.version, heap_bytes_before: start.bytes, heap_bytes_after: end.bytes };
  await clients.end();
  await coordinator.command('task', 'pause', task.id);
  await page.waitForTimeout(1_000);

  // Loading times with a slowed-down processor.
  await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE });
  figures.first_view_ms = await opening(page, `${coordinator.url}/console/`, '.tiles dd');
  figures.task_view_ms = await opening(page, `${coordinator.url}/console/tasks/${task.id}`, '.rounds-row a');

  // Loading times with a large database.
  await coordinator.stop();
  await execute('python3', ['-c', FILL, `${coordinator.folder}/data/folkmoot.db`, String(TASKS), String(ROUNDS)]);
  await coordinator.start();
  await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE });
  figures.tasks = TASKS;
  figures.rounds = ROUNDS;
  figures.tasks_view_ms = await opening(page, `${coordinator.url}/console/tasks`, '.tasks-row a');
  figures.long_task_view_ms = await opening(page, `${coordinator.url}/console/tasks/${task.id}`, '.rounds-row a');
  const list = page.locator('.long-body').last();
  const total = (await api(page, `/tasks/${task.id}`)).rounds_opened;
  const scrolled = [];
  for (const share of [0.5, 0.1, 0.9, 0.3, 0.7]) {
    const before = await page.evaluate(() => performance.now());
    await list.evaluate((element, share) => {
      element.scrollTop = share * element.scrollHeight;
    }, share);
    const wanted = Math.round((1 - share) * total);
    await page.waitForFunction(
      (wanted) => [...document.querySelectorAll('.rounds-row a')].some((link) => Math.abs(Number(link.textContent) - wanted) < 60),
      wanted,
    );
    scrolled.push((await page.evaluate(() => performance.now())) - before);
  }
  figures.jump_among_rounds_ms = median(scrolled);
} finally {
  await browser.close();
  await coordinator.close();
}
if (isJson) {
  console.log(JSON.stringify(figures, null, 2));
} else {
  const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
  console.log(`processor throttled ${THROTTLE} times, loopback, median of ${OPENINGS}:`);
  console.log(`  first view (overview)                 ${figures.first_view_ms.toFixed(0)} ms`);
  console.log(`  a task                                ${figures.task_view_ms.toFixed(0)} ms`);
  console.log(`  tasks, ${TASKS} of them               ${figures.tasks_view_ms.toFixed(0)} ms`);
  console.log(`  a task of ${ROUNDS} rounds            ${figures.long_task_view_ms.toFixed(0)} ms`);
  console.log(`  a jump among ${ROUNDS} rounds         ${figures.jump_among_rounds_ms.toFixed(0)} ms`);
  const { live } = figures;
  console.log(
    `live for ${live.minutes} min, ${live.rounds} rounds: heap ${mebibytes(live.heap_bytes_before)} -> ${mebibytes(live.heap_bytes_after)} MiB`,
  );
}
