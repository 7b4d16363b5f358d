// What people tell the system on the page: answers to approvals, signals, limits, and who may.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, axe, openBrowser, openPage, until } from './lib.mjs';

const release = `
vortex: 1
name: release
tasks:
  build: {run: ["true"]}
  ok: {needs: [build], wait: {approval: "Deploy <b>4.2</b> to production?", by: [operator]}}
  hear: {wait: {signal: go}}
  deploy: {needs: [ok, hear], run: [echo, "\${{ tasks.hear.outputs.version }}"]}
`;

let cluster;
let browser;
before(async () => {
  cluster = await Cluster.start({ tokens: true });
  browser = await openBrowser();
  await cluster.startWorker('w', '--slots', '4');
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

const tokens = new Map();
async function loggedIn(role) {
  if (!tokens.has(role)) tokens.set(role, cluster.token(role));
  const page = await openPage(browser);
  await page.goto(cluster.url);
  await page.getByLabel(/token/i).fill(tokens.get(role));
  await page.keyboard.press('Enter');
  await page.locator('[data-live="live"]').waitFor();
  return page;
}

test('an operator approves with a comment, sends a signal with data, and the run goes on', async () => {
  const run = cluster.submit(release);
  const page = await loggedIn('operator');
  await page.getByText(`${run} asks: Deploy <b>4.2</b> to production?`).click();
  const question = page.locator('[data-approval]');
  await question.waitFor();
  assert.deepEqual(await axe(page), []);
  await question.locator('[data-act="Approve"]').click();
  await page.getByLabel(/Comment/).fill("it's checked");
  await page.getByText(`vortex runs approve ${run}-L1-1 --comment`).waitFor();
  assert.deepEqual(await axe(page), []);
  await page.getByRole('button', { name: 'Approve', exact: true }).last().click();
  await page.getByText('Nothing waits for an answer').waitFor();

  await page.goto(`${cluster.url}/runs/${run}?tab=told`);
  await page.locator('[data-signal="ok"]').getByText("it's checked").waitFor();
  await page.locator('[data-act="Send go"]').click();
  const data = page.getByLabel(/Data as a JSON object/);
  await data.fill('{"version": ');
  await page.getByText('This is not valid JSON').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
  await data.fill('{"version": "4.2"}');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  assert.equal(await cluster.ended(run), 'Completed');
  await page.locator('[data-signal="go"]').getByText('4.2').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a rejection needs a reason and fails the task', async () => {
  const run = cluster.submit(release);
  await until('it asks', async () => (await cluster.get('/api/approvals')).approvals.length === 1);
  const page = await loggedIn('admin');
  await page.goto(`${cluster.url}/tasks/${run}-L1-1`);
  await page.locator('[data-act="Reject"]').click();
  const button = page.getByRole('button', { name: 'Reject', exact: true }).last();
  assert.equal(await button.isDisabled(), true);
  await page.getByLabel('Why', { exact: true }).fill('tests are red');
  await button.click();
  await page.locator('main').getByText(/tests are red/).first().waitFor();
  assert.equal((await cluster.get(`/api/tasks/${run}-L1-1`)).state, 'Failed');
  assert.deepEqual(page.wrong, []);
});

test('who may not answer is not asked to', async () => {
  const run = cluster.submit(release);
  await until('it asks', async () => (await cluster.get('/api/approvals')).approvals.length === 1);
  for (const role of ['viewer', 'submitter']) {
    const page = await loggedIn(role);
    await page.goto(`${cluster.url}/approvals`);
    await page.locator(`[data-approval="${run}-L1-1"]`).waitFor();
    assert.equal(await page.locator('[data-act="Approve"]').count(), 0);
  }
});

test('a limit that nobody has set is shown, set on the page, and lets its tasks go on', async () => {
  const run = cluster.submit('vortex: 1\nname: limited\ntasks:\n  fetch: {limits: [api], run: ["true"]}\n');
  const page = await loggedIn('operator');
  await page.goto(`${cluster.url}/limits`);
  const row = page.locator('[data-limit="api"]');
  await row.getByText('not set: its tasks wait').waitFor();
  assert.deepEqual(await axe(page), []);
  await row.locator('[data-act="Set"]').click();
  const said = page.getByLabel(/Slots, a rate/);
  await said.fill('no');
  assert.equal(await page.getByRole('button', { name: 'Set it' }).isDisabled(), true);
  await said.fill('2, 100/1m');
  await page.getByText('vortex limits set api --slots 2 --rate 100/1m').waitFor();
  await page.getByRole('button', { name: 'Set it' }).click();
  assert.equal(await cluster.ended(run), 'Completed');
  await row.getByText('100/1m').waitFor();
  assert.deepEqual(page.wrong, []);
});
