/** Tests that the console shows where notices go, and whether they arrive. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { openBrowser } from './support/browser.mjs';
import { natives, screenshot, settled, signIn, violations } from './support/console.mjs';
import { startCoordinator } from './support/coordinator.mjs';

let coordinator, browser, recipient, arrived;

before(async () => {
  recipient = createServer();
  arrived = new Promise((resolve) => {
    recipient.on('request', async (request, response) => {
      const pieces = [];
      for await (const piece of request) pieces.push(piece);
      response.writeHead(204).end();
      resolve(JSON.parse(Buffer.concat(pieces).toString()));
    });
  });
  await new Promise((resolve) => recipient.listen(0, '127.0.0.1', resolve));
  const webhooks = [
    { name: 'pager', url: `http://127.0.0.1:${recipient.address().port}/` },
    // Port 1 is reserved, and nothing listens there.
    { name: 'chat', format: 'slack', url: 'http://127.0.0.1:1/' },
  ];
  coordinator = await startCoordinator('https://nobody.example', {
    FOLKMOOT_NOTIFICATIONS_WEBHOOKS: JSON.stringify(webhooks),
    FOLKMOOT_NOTIFICATIONS_URL: 'https://fl.example',
  });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await coordinator?.close();
  recipient?.close();
});

test('a notice arrives, and the console shows which channel has failed', { timeout: 60_000 }, async () => {
  const task = await coordinator.task({ rounds: 1 });
  const clients = natives(coordinator, await coordinator.token(), 1);
  const notice = await arrived;
  await clients.end();
  assert.equal(notice.type, 'task_completed');
  assert.equal(notice.data.link, `https://fl.example/console/tasks/${task.id}`);
  const page = await signIn(browser, coordinator);
  await page.goto(`${coordinator.url}/console/system`);
  const row = (name) => page.getByRole('row', { name: new RegExp(`^${name} webhook`) });
  await row('pager').getByText('ok', { exact: true }).waitFor();
  await row('chat').getByText('failed', { exact: true }).waitFor();
  await page.getByText(/^chat: cannot connect/).waitFor();
  assert.equal(await row('chat').getByRole('cell').nth(3).textContent(), '1', 'it waits for another attempt');
  for (const [width, scheme] of [
    [390, 'light'],
    [1024, 'dark'],
    [1440, 'light'],
  ]) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await settled(page);
    assert.deepEqual(await violations(page), []);
    await screenshot(page, `notices-${width}-${scheme}`, 900);
  }
});
