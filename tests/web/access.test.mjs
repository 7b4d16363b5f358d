// Who may do what, and that a keyboard is enough to do it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Cluster, axe, openBrowser, openPage, until } from './lib.mjs';

const waiting = `
vortex: 1
name: waiting
tasks:
  work: {run: [sleep, "600"]}
`;

let cluster;
let browser;
let run;
before(async () => {
  cluster = await Cluster.start({ tokens: true });
  browser = await openBrowser();
  await cluster.startWorker('w', '--slots', '2');
  run = cluster.submit(waiting);
  writeFileSync(`${cluster.folder}/waiting.yaml`, waiting);
  cluster.command('dag', 'apply', `${cluster.folder}/waiting.yaml`);
  await until('it runs', async () => (await cluster.get(`/api/tasks/${run}-L0-0`)).state === 'Running');
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

async function logIn(page, token) {
  await page.goto(`${cluster.url}/runs/${run}`);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}

test('without a token there is only the login, and a wrong one opens nothing', async () => {
  const page = await openPage(browser);
  await logIn(page, 'vx_guess');
  await page.getByText('unknown token').waitFor();
  assert.equal(await page.locator('nav').count(), 0);
  assert.deepEqual(await axe(page), []);
});

test('a viewer sees everything and no action', async () => {
  const page = await openPage(browser);
  await logIn(page, cluster.token('viewer'));
  await page.locator(`[data-task="${run}-L0-0"]`).waitFor();
  for (const place of [`/runs/${run}`, `/tasks/${run}-L0-0`, '/workers/w-1', '/queues', '/dead-letters']) {
    await page.goto(cluster.url + place);
    await page.locator('h1').waitFor();
    await page.locator('[data-live="live"]').waitFor();
    assert.equal(await page.locator('[data-act]').count(), 0, place);
  }
  await page.keyboard.press('c');
  assert.equal(await page.locator('dialog[open]').count(), 0);
  await page.goto(`${cluster.url}/dags/waiting`);
  await page.locator('[data-version]').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Submit' }).count(), 0);
});

test('a login link works once and leaves no trace in the address', async () => {
  const link = cluster.command('dashboard');
  const page = await openPage(browser);
  await page.goto(link);
  await page.locator('[data-live="live"]').waitFor();
  assert.equal(page.url(), `${cluster.url}/`);
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  assert.equal(cookies[0].httpOnly, true);
  assert.equal(cookies[0].sameSite, 'Strict');
  const second = await openPage(browser);
  await second.goto(link);
  await second.getByText('the link was used or has expired').waitFor();
});

test('a revoked token ends its sessions', async () => {
  const page = await openPage(browser);
  const made = JSON.parse(cluster.command('tokens', 'create', 'temp', '--role', 'viewer', '-o', 'json'));
  await logIn(page, made.secret);
  await page.locator('[data-live="live"]').waitFor();
  cluster.command('tokens', 'revoke', 'temp', '--yes');
  await page.getByLabel('Token').waitFor();
});

test('the keyboard alone cancels a run', async () => {
  const page = await openPage(browser);
  await page.goto(cluster.command('dashboard'));
  await page.locator('[data-live="live"]').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.locator(`[data-run="${run}"]`).waitFor();
  for (let tries = 0; tries < 60; tries += 1) {
    await page.keyboard.press('Tab');
    if (await page.evaluate((id) => document.activeElement?.getAttribute('data-run') === id, run)) break;
  }
  await page.keyboard.press('Enter');
  await page.locator('h1', { hasText: run }).waitFor();
  await page.locator('[data-act="Cancel"]').waitFor();
  await page.keyboard.press('c');
  await page.locator('dialog[open]').waitFor();
  await page.getByText(`vortex runs cancel ${run}`).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText(`Cancelling run ${run}`).waitFor();
  await page.locator('h1 ~ [data-state="Cancelled"]').waitFor();
  assert.equal(await cluster.ended(run), 'Cancelled');
});
