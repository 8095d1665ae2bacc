/** Tests the console in a real browser, against a real coordinator with live clients. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, afterEach, before, test } from 'node:test';
import { promisify } from 'node:util';

import { openBrowser } from './support/browser.mjs';
import { api, chartRows, natives, screenshot, settled, signIn, versionAfter, violations } from './support/console.mjs';
import { bringWithDataFile, confirm, createFromToml, fact, MODEL, set, toml } from './support/console_forms.mjs';
import { startCoordinator } from './support/coordinator.mjs';
import { folkmoot, root } from './support/paths.mjs';
import { holds, until } from './support/world.mjs';

const execute = promisify(execFile);
let coordinator, browser;

before(async () => {
  coordinator = await startCoordinator('https://nobody.example');
  browser = await openBrowser();
});
afterEach(async () => {
  const [first, ...others] = browser.context.pages();
  await Promise.all(others.map((page) => page.close()));
  await first?.goto('about:blank');
  await browser.context.clearCookies();
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
});

test('a wrong key is refused, a right one opens an overview that says what to do', { timeout: 60_000 }, async () => {
  const page = await browser.page(`${coordinator.url}/console/tasks`);
  await page.getByLabel('API key').fill('nonsense');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('16 and 64 hexadecimal digits').waitFor();
  await page.getByLabel('API key').fill(coordinator.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  assert.ok(!(await page.content()).includes(coordinator.apiKey), 'the key is nowhere in the page');
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script sees the session');
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('button', { name: 'Start the digits demo' }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
});

test('a task from an ONNX file: created, watched, paused, rolled back, resumed, downloaded', { timeout: 240_000 }, async () => {
  const page = await signIn(browser, coordinator);
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.getByRole('button', { name: 'Create a task' }).click();
  await page.getByLabel('ONNX file').setInputFiles(`${root}README.md`);
  await page.getByRole('alert').first().waitFor();
  await bringWithDataFile(page);
  await page.getByLabel('ONNX file').setInputFiles(MODEL);
  await fact(page, 'Parameters').getByText('4,810').waitFor();

  await set(page, 'name', 'watched');
  await set(page, 'population', 'Not A Name');
  await set(page, 'scheduling.report_goal', 0);
  await page.getByText('3 problems found:').waitFor();
  assert.equal(await page.locator('[name="population"][aria-invalid="true"]').count(), 1, 'the fault stands at its field');
  await set(page, 'population', 'watched');
  await set(page, 'scheduling.report_goal', 2);
  await set(page, 'stop.rounds', 500);
  await page.getByText('No problems found.').waitFor();
  // The console must create exactly the task on the screen, even if the user clicks before the last change was checked.
  await set(page, 'scheduling.report_goal', 0);
  await page.getByRole('button', { name: 'Create the task' }).click();
  await page.getByRole('alert').getByText('The task was not created').waitFor();
  await set(page, 'scheduling.report_goal', 2);
  await page.getByText('No problems found.').waitFor();
  await page.getByText('token_share_max is not set').waitFor();
  const file = await page.locator('pre.toml').textContent();
  assert.match(file, /report_goal = 2/);
  assert.equal(await page.locator('pre.command').textContent(), 'folkmoot task create task.toml --model model.onnx --activate');
  await page.getByRole('button', { name: 'Create the task' }).click();
  await page.getByRole('heading', { level: 1, name: 'watched' }).waitFor();
  const task = page.url().split('/').at(-1);
  await page.getByText('token_share_max is not set').waitFor();
  await page.getByText('Waits for 2 clients (0 so far)').waitFor();
  await screenshot(page, 'task-waiting', 1130);

  await page.getByRole('link', { name: 'Access', exact: true }).click();
  await page.getByRole('table', { name: 'Audit log' }).getByRole('cell', { name: 'task.create' }).waitFor();
  await page.getByLabel('Population', { exact: true }).fill('watched');
  await page.getByRole('button', { name: 'Create a token' }).click();
  const token = await page.locator('.secret code').textContent();
  await page.getByRole('cell', { name: '0 of 1,000' }).waitFor();
  const clients = natives(coordinator, token, 3);
  try {
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'watched' }).waitFor();
    const committed = async () => Number((await fact(page, 'Rounds committed').textContent()).split(' ')[0].replace(',', ''));
    await until(async () => ((await committed()) >= 12 ? true : null), 60);
    await screenshot(page, 'task-live', 1130);

    await page.getByRole('button', { name: 'Pause' }).click();
    await confirm(page, 'Keep it as it is');
    await page.getByRole('button', { name: 'Pause' }).click();
    await confirm(page, 'Pause the task');
    await fact(page, 'State').getByText('paused').waitFor();
    const version = (now) => (now.open_round ? null : now.latest_version);
    const before = await coordinator.log.until('the pause', async () => version(await api(page, `/tasks/${task}`)));
    const row = (version) => page.getByRole('row').filter({ has: page.getByLabel(`Compare version ${version}`, { exact: true }) });
    await row(before).waitFor();
    await row(before - 1)
      .getByRole('button', { name: 'Roll back' })
      .click();
    await confirm(page, 'Roll back');
    await page.getByRole('cell', { name: `weights of version ${before - 1}`, exact: true }).waitFor();
    const [newest] = await api(page, `/tasks/${task}/versions?limit=1`);
    assert.deepEqual([newest.number, newest.rolled_back_to], [before + 1, before - 1]);

    // The charts must show the same values as the API.
    const series = await api(page, `/tasks/${task}/series?points=600`);
    const shows = async (title, columns, values) => {
      const rows = series.points.map((point) => values(point));
      await holds(async () =>
        assert.deepEqual(
          (await chartRows(page, title)).map((row) => row.slice(0, columns)),
          rows,
        ),
      );
    };
    await shows('Accuracy', 2, (point) => [point.version, point.accuracy ?? null]);
    assert.ok(!series.points[0].accuracy && series.points.at(-2).accuracy, 'version 0 was measured by nobody: a gap');
    await page.getByRole('button', { name: 'time', exact: true }).click();
    await shows('Loss', 2, (point) => [point.created_at, point.loss ?? null]);
    await page.getByRole('button', { name: 'bytes', exact: true }).click();
    await shows('Loss', 1, (point) => [point.upload_bytes]);
    const names = await page
      .locator('figure.chart [role=img]')
      .evaluateAll((charts) => charts.map((chart) => chart.getAttribute('aria-label')));
    assert.ok(
      names.every((name) => /\(.+\)/.test(name)),
      `axes have units: ${names}`,
    );

    await page.getByRole('button', { name: 'Resume' }).click();
    await fact(page, 'State').getByText('active').waitFor();
    await versionAfter(page, coordinator, task, before + 3);
    await screenshot(page, 'task-story-light-wide');
    const download = page.waitForEvent('download');
    await page
      .getByRole('link', { name: /^Download version/ })
      .first()
      .click();
    const path = await (await download).path();
    const digits = `${root}examples/digits/digits.csv`;
    const { stdout } = await execute(folkmoot(), ['eval', path, '--data', digits, '--json']);
    const { accuracy: right } = JSON.parse(stdout);
    assert.ok(right > 0.3, `the downloaded model has learnt: ${right}`);

    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await confirm(page, 'Cancel the task');
    await fact(page, 'State').getByText('cancelled').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Resume' }).count(), 0);
  } finally {
    await clients.end();
  }
});

test('a private task runs into its budget, and the console shows the end', { timeout: 180_000 }, async () => {
  const page = await signIn(browser, coordinator);
  const privacy = `[privacy]
kind = "central"
epsilon = 8.0
delta = 1e-5
noise_multiplier = 1.0
clipping = { kind = "fixed", norm = 1.0 }
[aggregator]
kind = "uniform_mean"
`;
  const task = await createFromToml(page, coordinator, toml('private', 'private', privacy, 50));
  const clients = natives(coordinator, (await coordinator.command('token', 'create', 'private')).token, 3, 'private');
  try {
    await fact(page, 'State').getByText('completed').waitFor();
    const statement = await api(page, `/tasks/${task}/privacy`);
    assert.ok(statement.epsilon_spent <= statement.epsilon_budget && statement.releases >= 1, JSON.stringify(statement));
    const gauge = page.getByRole('meter', { name: 'Epsilon spent' });
    await until(async () => (Number(await gauge.getAttribute('aria-valuenow')) === statement.epsilon_spent ? true : null));
    await page.getByText('Private tasks are not counted').waitFor();
    await page.getByRole('link', { name: 'Privacy', exact: true }).click();
    await page
      .locator('section', { has: page.getByRole('heading', { name: 'Ledger' }) })
      .locator('select')
      .selectOption('private');
    // The first entry of the ledger has the task's privacy promise; each other entry is a release.
    const entries = statement.releases + 1;
    await until(async () =>
      (await page.getByRole('region', { name: 'Ledger of private' }).locator('tbody tr').count()) === entries ? true : null,
    );
    assert.equal((await chartRows(page, 'Epsilon spent')).at(-1)[1] <= 8.0001, true, 'the planner draws its curve');
    await page.getByLabel('Epsilon', { exact: true }).fill('-1');
    await page.getByText('must be above 0').waitFor();
  } finally {
    await clients.end();
  }
});

test('whom a population protects and what it may spend is set, and taken away again', async () => {
  const page = await signIn(browser, coordinator);
  await coordinator.command('token', 'create', 'users');
  await page.getByRole('link', { name: 'Privacy', exact: true }).click();
  await page.getByLabel('Population', { exact: true }).first().selectOption('users');
  await page.getByLabel('Protects').selectOption('user');
  await page.getByLabel('Epsilon of all tasks together').fill('4');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await confirm(page, 'Set the budget');
  await page.getByRole('alert').getByText('delta').waitFor();
  await page.getByLabel('Delta of all tasks together').fill('0,000001');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await confirm(page, 'Set the budget');
  await page.getByRole('alert').getByText('which is not a number').waitFor();
  await page.getByLabel('Delta of all tasks together').fill('1e-6');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await confirm(page, 'Set the budget');
  const cells = () =>
    page
      .getByRole('row', { name: /^users/ })
      .locator('td')
      .allTextContents();
  await until(async () => ((await cells()).slice(1, 4).join() === 'every user,4,1.00e-6' ? true : null));
  const named = async () => (await api(page, '/populations')).find(({ name }) => name === 'users');
  const set = await named();
  assert.deepEqual([set.unit, set.epsilon, set.delta], ['user', 4, 1e-6]);
  const away = page.getByRole('button', { name: 'Remove the budget of users' });
  assert.equal(await away.isDisabled(), true, 'to allow more takes a reason');
  await page.getByLabel('Reason, if the budget is weakened').fill('the study is over');
  await away.click();
  await confirm(page, 'Remove the budget');
  await until(async () => ((await cells())[2] === "the tasks' own" ? true : null));
  assert.equal((await named()).unit, 'user');
});

test('a viewer is offered nothing, and the API refuses all the same', { timeout: 60_000 }, async () => {
  const viewer = (await coordinator.command('key', 'create', 'viewer', '--role', 'viewer')).api_key;
  const page = await signIn(browser, coordinator, viewer);
  assert.equal(await page.getByRole('link', { name: 'System' }).count(), 0);
  const [task] = await api(page, '/tasks?limit=1');
  for (const place of ['tasks', `tasks/${task.id}`, 'models', 'access', 'tasks/new']) {
    await page.goto(`${coordinator.url}/console/${place}`);
    await settled(page);
    for (const name of [
      'Create a task',
      'Create the task',
      'Pause',
      'Resume',
      'Cancel',
      'Roll back',
      'Revoke',
      'Revoke with clients',
      'Create a token',
      'Create a key',
    ]) {
      assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, `${name} on ${place}`);
    }
  }
  const statuses = await page.evaluate(async (id) => {
    const { csrf_token } = await (await fetch('/v1/admin/session')).json();
    const post = async (path, token) => (await fetch(`/v1/admin${path}`, { method: 'POST', headers: { 'x-folkmoot-csrf': token } })).status;
    return [await post(`/tasks/${id}/cancel`, csrf_token), await post(`/tasks/${id}/cancel`, '')];
  }, task.id);
  assert.deepEqual(statuses, [403, 403]);
});

test('every view is readable by everybody: axe-core, light and dark, wide and narrow', { timeout: 900_000 }, async () => {
  const page = await signIn(browser, coordinator);
  const [task, other] = await api(page, '/tasks?limit=2');
  const [round] = await api(page, `/tasks/${task.id}/rounds?limit=1`);
  const [model] = await api(page, '/models');
  const views = {
    overview: '',
    tasks: 'tasks',
    compare: `tasks/compare/${task.id},${other.id}`,
    create: `tasks/new?model=${model.model}`,
    task: `tasks/${task.id}`,
    round: `rounds/${round.id}`,
    clients: 'clients/watched',
    models: 'models',
    model: `models/${model.model}`,
    privacy: 'privacy',
    statement: `privacy/tasks/${task.id}`,
    access: 'access',
    system: 'system',
  };
  const problems = [];
  for (const [theme, width] of [
    ['light', 1440],
    ['dark', 1440],
    ['light', 1024],
    ['light', 390],
    ['dark', 390],
  ]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: theme });
    for (const [name, path] of Object.entries(views)) {
      await page.goto(`${coordinator.url}/console/${path}`);
      await settled(page);
      problems.push(...(await violations(page)).map((violation) => `${name}, ${theme}, ${width}: ${violation}`));
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overflow > 1) problems.push(`${name}, ${width}: ${overflow} pixels too wide`);
      await screenshot(page, `${name}-${theme}-${width}`);
    }
  }
  await page.goto(`${coordinator.url}/console/`);
  await page.setViewportSize({ width: 1280, height: 900 });
  assert.deepEqual(problems, []);
});

test('all of it works by keyboard', { timeout: 60_000 }, async () => {
  const page = await signIn(browser, coordinator);
  await page.goto(`${coordinator.url}/console/tasks`);
  await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main', 'the content has the focus');
  await page.getByLabel('Name').focus();
  await page.keyboard.type('watched');
  const link = page.getByRole('link', { name: 'watched', exact: true });
  await link.waitFor();
  await link.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'watched' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'the new view has the focus');
});

test('nothing but the coordinator is asked, and the policy allows nothing else', { timeout: 60_000 }, async () => {
  const page = await signIn(browser, coordinator);
  const asked = new Set();
  page.on('request', (request) => asked.add(new URL(request.url()).origin));
  const answer = await page.goto(`${coordinator.url}/console/`);
  const policy = answer.headers()['content-security-policy'];
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
  assert.doesNotMatch(policy, /unsafe/);
  await page.getByRole('link', { name: 'Privacy', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Privacy' }).waitFor();
  asked.delete('null');
  assert.deepEqual([...asked], [coordinator.url]);
});

test('where events do not come through, the page asks from time to time', { timeout: 60_000 }, async () => {
  const page = await signIn(browser, coordinator);
  await page.route('**/v1/admin/events', (route) => route.abort());
  await page.goto(`${coordinator.url}/console/tasks`);
  await page.getByText('Updating every 3 s').waitFor();
  const name = 'made elsewhere';
  const [model] = await api(page, '/models');
  await page.evaluate(
    async ([description, model]) => {
      const { csrf_token } = await (await fetch('/v1/admin/session')).json();
      await fetch('/v1/admin/tasks', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-folkmoot-csrf': csrf_token },
        body: JSON.stringify({ description, model }),
      });
    },
    [
      {
        name,
        population: 'elsewhere',
        plan: { loss: 'softmax_cross_entropy', epochs: 1, batch_size: 16, optimizer: { sgd: { learning_rate: 0.1 } } },
        scheduling: { kind: 'synchronous', report_goal: 2 },
        stop: { rounds: 2 },
      },
      model.model,
    ],
  );
  await page.getByRole('link', { name }).waitFor({ timeout: 15_000 });
});

test('an empty coordinator shows the digits demo in one click', { timeout: 120_000 }, async () => {
  const empty = await startCoordinator('https://nobody.example');
  try {
    const page = await signIn(browser, empty);
    await screenshot(page, 'first-run');
    await page.getByRole('button', { name: 'Start the digits demo' }).click();
    await page.getByRole('heading', { level: 1, name: 'digits' }).waitFor();
    const task = page.url().split('/').at(-1);
    await empty.committed(task, 10);
    const { points } = await api(page, `/tasks/${task}/series`);
    assert.ok(points.at(-1).accuracy > 0.8, `the clients of round ${points.length} saw ${points.at(-1).accuracy}`);
    await page.getByRole('link', { name: 'Clients', exact: true }).click();
    await page.getByRole('heading', { level: 2, name: 'digits' }).waitFor();
    await fact(page, 'Enrolled').getByText('20').waitFor();
    const again = await page.evaluate(async () => {
      const { csrf_token } = await (await fetch('/v1/admin/session')).json();
      return (await fetch('/v1/admin/demo', { method: 'POST', headers: { 'x-folkmoot-csrf': csrf_token } })).status;
    });
    assert.equal(again, 409, 'it is for a coordinator on which nothing is yet');
  } finally {
    await empty.close();
  }
});
