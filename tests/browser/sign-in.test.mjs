/** Tests signing in to the console with a real OpenID Connect provider. */

import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { api, violations } from './support/console.mjs';
import { Coordinator } from './support/coordinator.mjs';
import { CLIENT, SECRET, startProvider } from './support/provider.mjs';

let coordinator, provider, browser;

before(async () => {
  provider = await startProvider();
  const folder = await mkdtemp(`${tmpdir()}/folkmoot-coordinator-`);
  await writeFile(`${folder}/secret`, SECRET);
  // The coordinator reads this file in its folder.
  await writeFile(
    `${folder}/folkmoot.toml`,
    `
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
  await page.locator('[name=login]').fill(person);
  await page.locator('[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  return page;
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

test('who cancels at the provider comes back without a session', { timeout: 60_000 }, async () => {
  const page = await browser.page(`${coordinator.url}/console/`);
  await page.getByRole('link', { name: 'Sign in with example' }).click();
  await page.getByRole('link', { name: /Cancel/ }).click();
  await page.getByRole('alert').getByText('it was cancelled').waitFor();
});
