// The page follows what happens: a worker that dies, a controller that goes away and comes back.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, helloDag, openBrowser, openPage, until } from './lib.mjs';

const waiting = `
vortex: 1
name: waiting
tasks:
  work: {run: [sleep, "600"]}
`;

let cluster;
let browser;
before(async () => {
  cluster = await Cluster.start();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** How long after the API said so the page does, in ms. */
async function lag(what, said, shown) {
  let saidAt = 0;
  await until(`the API says ${what}`, async () => {
    if (!(await said())) return false;
    saidAt = Date.now();
    return true;
  });
  await until(`the page shows ${what}`, shown);
  const took = Date.now() - saidAt;
  console.log(`${what}: on the page ${took} ms after the API said so`);
  return took;
}

test('a killed worker is shown offline and its task moving, within 2 s and without reload', async () => {
  const first = await cluster.startWorker('alpha', '--slots', '1');
  const run = cluster.submit(waiting);
  const task = `${run}-L0-0`;
  await until('it runs', async () => (await cluster.get(`/api/tasks/${task}`)).state === 'Running');
  await cluster.startWorker('beta', '--slots', '1');
  const workers = await openPage(browser);
  const tasks = await openPage(browser);
  await workers.goto(`${cluster.url}/workers`);
  await tasks.goto(`${cluster.url}/runs/${run}`);
  await workers.locator('[data-worker="alpha-1"] [data-state="RUNNING"]').waitFor();
  await tasks.locator(`[data-task="${task}"] [data-state="Running"]`).waitFor();

  cluster.killWorker(first);
  const offline = lag('alpha offline',
    async () => (await cluster.get('/api/workers/alpha-1')).state === 'OFFLINE',
    async () => (await workers.locator('[data-worker="alpha-1"] [data-state="OFFLINE"]').count()) === 1);
  const moved = lag('the task on beta',
    async () => { const it = await cluster.get(`/api/tasks/${task}`); return it.state === 'Running' && it.worker === 'beta-1'; },
    async () => (await tasks.locator(`[data-task="${task}"]`, { hasText: 'beta-1' }).locator('[data-state="Running"]').count()) === 1);
  assert.ok((await offline) < 2_000);
  assert.ok((await moved) < 2_000);
  await tasks.goto(`${cluster.url}/recoveries`);
  await tasks.getByRole('link', { name: 'alpha-1' }).first().waitFor();
  await tasks.locator('li:not(.unknown)', { hasText: 'running again' }).first().waitFor();
  await tasks.goto(`${cluster.url}/workers/alpha-1`);
  await tasks.locator('[data-life]', { hasText: '1 task' }).waitFor();
  assert.deepEqual([...workers.wrong, ...tasks.wrong], []);
  cluster.command('runs', 'cancel', run, '--yes');
});

test('a killed controller: the page says so, reconnects by itself and shows the truth', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs`);
  await page.locator('[data-live="live"]').waitFor();
  await cluster.killController();
  await page.locator('[data-live="reconnecting"]').waitFor();
  await cluster.startController();
  const run = cluster.submit(helloDag);
  await page.locator('[data-live="live"]').waitFor();
  await page.locator(`[data-run="${run}"]`).waitFor();
  await cluster.ended(run);
  await page.locator(`[data-run="${run}"] [data-state="Completed"]`).waitFor();
  assert.deepEqual(page.wrong, []);
});
