/** Tests signing in to the console and the command line with a real OpenID Connect provider. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { api, violations } from './support/console.mjs';
import { Coordinator, firstLine } from './support/coordinator.mjs';
import { folkmoot } from './support/paths.mjs';
import { CLIENT, SECRET, startProvider } from './support/provider.mjs';
import { until } from './support/world.mjs';

let coordinator, provider, browser;

before(async () => {
  provider = await startProvider();
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-coordinator-`);
  await writeFile(`${folder}/secret`, SECRET);
  // The coordinator reads this file in its folder.
  await writeFile(
    `${folder}/folkmoot.toml`,
    `
[sign_in]
refresh_seconds = 1

[[sign_in.providers]]
name = "example"
issuer = "${provider.issuer}"
client_id = "${CLIENT}"
client_secret_file = "${folder}/secret"
[sign_in.providers.roles]
staff = "viewer"
builders = "operator"
`,
  );
  coordinator = new Coordinator(folder, 'https://nobody.example');
  await coordinator.start();
  browser = await openBrowser();
});
beforeEach(async () => {
  await browser.context.clearCookies();
  provider.tokenSeconds = 600;
  provider.refreshes = false;
  provider.serve(coordinator.url);
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
  await provider?.close();
});

/** Opens the console and signs in as `person` in the provider's forms. */
async function signIn(person) {
  const page = await browser.page(`${coordinator.url}/console/`);
  await page.getByRole('link', { name: 'Sign in with example' }).click();
  await fillForms(page, person);
  return page;
}

async function fillForms(page, person) {
  await page.locator('[name=login]').fill(person);
  await page.locator('[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** The variables of a shell without an API key. */
const shell = () => ({ XDG_CONFIG_HOME: `${coordinator.folder}/configuration` });
const own = (...flags) => coordinator.commandWith(shell(), ...flags);

/** Runs `folkmoot login`, enters its code as `person`, and returns its last line. */
async function logIn(person) {
  await browser.context.clearCookies();
  const env = { ...process.env, FOLKMOOT_URL: coordinator.url, ...shell() };
  const child = spawn(folkmoot(), ['login', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const code = await firstLine(child, ({ event }) => event === 'code');
  const signedIn = firstLine(child, ({ event }) => event === 'signed_in');
  const page = await browser.page(code.verification_uri);
  await page.locator('[name=user_code]').fill(code.user_code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(code.user_code).waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await fillForms(page, person);
  await page.getByText('Sign-in Success').waitFor();
  return signedIn;
}

const overview = (page) => page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

async function acts() {
  const { entries } = await coordinator.command('audit', 'list', '--limit', '100');
  return entries;
}

test('a person signs in, is named in the log, and signs out at the provider too', { timeout: 60_000 }, async () => {
  provider.groups = { ada: ['choir', 'builders'] };
  const page = await signIn('ada');
  await overview(page);
  await page.getByText('ada the Tester (operator)').waitFor();
  assert.equal(new URL(page.url()).pathname, '/console/');
  const session = await api(page, '/session');
  assert.deepEqual(session.person, { provider: 'example', subject: 'ada', name: 'ada the Tester' });

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.getByRole('link', { name: 'Sign in with example' }).waitFor();
  assert.equal(new URL(page.url()).origin, coordinator.url);
  assert.deepEqual(await violations(page), []);
  const own = (await acts()).filter(({ by }) => by === 'oidc:example:ada (ada the Tester)');
  assert.deepEqual(
    own.map(({ action }) => action),
    ['session.create', 'session.delete'],
  );
  // The provider has ended its own session, so it asks for the password again.
  await page.getByRole('link', { name: 'Sign in with example' }).click();
  await page.locator('[name=login]').waitFor();
});

test('a person without a role is refused, and may enter after the group has changed', { timeout: 60_000 }, async () => {
  provider.groups = { eve: ['choir'] };
  const page = await signIn('eve');
  await page.getByRole('alert').getByText('none of your groups').waitFor();
  // The page removes the reason from its address after it has read it.
  await page.waitForURL(`${coordinator.url}/console/`);
  assert.equal((await acts()).at(-1).action, 'session.refuse');

  provider.groups = { eve: ['staff'] };
  // The provider remembers the person.
  await page.getByRole('link', { name: 'Sign in with example' }).click();
  await overview(page);
  await page.getByText('eve the Tester (viewer)').waitFor();
  assert.equal((await api(page, '/system')).code, 'role_insufficient');
});

test('new keys of the provider are found, and a session ends with its token', { timeout: 60_000 }, async () => {
  provider.groups = { ada: ['builders'] };
  await overview(await signIn('ada'));

  // The same provider with other keys.
  await browser.context.clearCookies();
  provider.serve(coordinator.url);
  provider.tokenSeconds = 5;
  const page = await signIn('ada');
  await page.getByText('Your session has ended').waitFor();
});

test('a changed group changes the role of an open session, and a removed one ends it', { timeout: 60_000 }, async () => {
  provider.groups = { ada: ['builders'] };
  provider.refreshes = true;
  const page = await signIn('ada');
  await page.getByText('ada the Tester (operator)').waitFor();
  const { expires_at } = await api(page, '/session');

  // Each renewal uses up a refresh token of the provider.
  provider.groups = { ada: ['staff'] };
  await until(async () => ((await api(page, '/session')).role === 'viewer' ? true : null));
  provider.groups = { ada: ['builders'] };
  await until(async () => ((await api(page, '/session')).role === 'operator' ? true : null));
  assert.equal((await api(page, '/session')).expires_at, expires_at);
  const changes = (await acts()).filter(({ action }) => action === 'session.change_role');
  assert.equal(changes.length, 2);

  provider.groups = { ada: ['choir'] };
  await page.getByText('Your session has ended').waitFor();
  assert.deepEqual(
    (await acts()).slice(-2).map(({ action }) => action),
    ['session.refuse', 'session.delete'],
  );
});

test('who cancels at the provider comes back without a session', { timeout: 60_000 }, async () => {
  const page = await browser.page(`${coordinator.url}/console/`);
  await page.getByRole('link', { name: 'Sign in with example' }).click();
  await page.getByRole('link', { name: /Cancel/ }).click();
  await page.getByRole('alert').getByText('it was cancelled').waitFor();
});

test('a person signs in on the command line with a code', { timeout: 120_000 }, async () => {
  provider.groups = { ada: ['builders'] };
  const { person, role, organisation } = await logIn('ada');
  assert.deepEqual(person, { provider: 'example', subject: 'ada', name: 'ada the Tester' });
  assert.deepEqual([role, organisation], ['operator', 'default']);
  assert.deepEqual((await own('whoami')).person, person);
  assert.deepEqual(await own('task', 'list'), []);
  assert.equal((await own('token', 'create', 'digits')).record.population, 'digits');
  assert.equal((await acts()).at(-1).by, 'oidc:example:ada (ada the Tester)');
  const file = `${coordinator.folder}/configuration/folkmoot/sessions.json`;
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  // Without a refresh token, the groups count again at the next sign-in.
  provider.groups = { ada: ['staff'] };
  assert.equal((await own('whoami')).role, 'operator');
  provider.refreshes = true;
  provider.groups = { ada: ['builders'] };
  await logIn('ada');
  assert.equal((await own('whoami')).role, 'operator');
  // With one, they count while the session is open.
  provider.groups = { ada: ['staff'] };
  await until(async () => ((await own('whoami')).role === 'viewer' ? true : null));
  assert.equal((await own('whoami')).role, 'viewer');
  await assert.rejects(own('token', 'create', 'digits'), /role_insufficient/);

  const [{ session }] = Object.values(JSON.parse(await readFile(file)));
  const { provider_url } = await own('logout');
  assert.ok(provider_url.startsWith(`${provider.issuer}/session/end?`), provider_url);
  await assert.rejects(own('whoami'), /folkmoot login/);
  await assert.rejects(coordinator.commandWith({ FOLKMOOT_API_KEY: session }, 'whoami'), /api_key_invalid/);
});
