// Every page against a real controller: it shows what the controller says, nothing in it is wrong for
// assistive technology, and its address brings it back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Cluster, axe, helloDag, openBrowser, openPage, until } from './lib.mjs';

const evil = '<img src=x onerror=alert(1)>';
const evilDag = `
vortex: 1
name: evil
tasks:
  bad:
    shell: [bash, -c]
    env: {EVIL: '${evil}<script>alert(2)</script>'}
    run: |
      echo "$EVIL"; printf '\\033]0;<b>title</b>\\007\\033[31mred %s\\033[0m\\n' "$EVIL"; echo "$EVIL" >&2; exit 3
    retry: {max: 0}
  next: {needs: [bad], run: ["true"]}
`;

let cluster;
let browser;
let runs;
before(async () => {
  cluster = await Cluster.start();
  browser = await openBrowser();
  await cluster.startWorker('w', '--slots', '4');
  runs = { hello: cluster.submit(helloDag, '--label', 'team=data'), evil: cluster.submit(evilDag, '--label', `why=${evil}`, '-p', `note=${evil}`) };
  writeFileSync(`${cluster.folder}/hello.yaml`, helloDag);
  cluster.command('dag', 'apply', `${cluster.folder}/hello.yaml`);
  assert.equal(await cluster.ended(runs.hello), 'Completed');
  assert.equal(await cluster.ended(runs.evil), 'Failed');
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

test('V07 the overview shows workers, tasks, re-queues and uptime as the controller says', async () => {
  const page = await openPage(browser);
  await page.goto(cluster.url);
  const figure = async (name) => Number((await page.locator(`[data-figure="${name}"] .value`).innerText()).replaceAll(',', ''));
  await page.locator('[data-live="live"]').waitFor();
  const status = await cluster.get('/api/status');
  assert.equal(await figure('Workers active'), status.workers_active);
  assert.equal(await figure('Workers offline'), 0);
  assert.equal(await figure('Workers registering'), 0);
  assert.equal(await figure('Tasks completed'), status.tasks.Completed);
  assert.equal(await figure('Tasks failed'), 1);
  assert.equal(await figure('Re-queued in the last hour'), status.requeued_last_hour);
  assert.match(await page.locator('main').innerText(), /leader, term 1 · up \d/);
  await page.getByText('1 open dead letter').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('every page opens, shows its heading and has nothing that axe-core finds', async () => {
  const page = await openPage(browser);
  const places = ['/', '/runs', `/runs/${runs.hello}`, `/runs/${runs.hello}?tab=time`, `/runs/${runs.hello}?tab=graph`, `/runs/${runs.hello}?tab=grid`, `/runs/${runs.evil}?tab=compare`, `/runs/${runs.evil}?tab=verdicts`, `/runs/${runs.evil}?tab=ledger`, `/runs/${runs.evil}?tab=told`, `/runs/${runs.evil}?tab=events`, `/tasks/${runs.evil}-L0-0`, `/tasks/${runs.evil}-L1-1`, '/workers', '/workers/w-1', '/machines', '/queues', '/limits', '/leases', '/recoveries', '/dead-letters', '/events', '/dags', '/dags/hello', '/schedules', '/approvals', '/webhooks', '/tokens', '/settings', '/runs/r99/nothing'];
  const found = [];
  for (const place of places) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(cluster.url + place);
    await page.locator('h1').waitFor();
    await page.locator('[data-live="live"]').waitFor();
    for (const wrong of await axe(page)) found.push(`${place}: ${wrong}`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html[data-theme="dark"]').waitFor();
    for (const wrong of await axe(page, ['color-contrast'])) found.push(`${place} in the dark: ${wrong}`);
  }
  assert.deepEqual(found, []);
  assert.deepEqual(page.wrong, []);
});

test('a script in a name, label, output or error is shown as text and never runs', async () => {
  const page = await openPage(browser);
  for (const place of ['/', '/runs', `/runs/${runs.evil}`, `/runs/${runs.evil}?tab=events`, `/tasks/${runs.evil}-L0-0`, '/dead-letters', '/events']) {
    await page.goto(cluster.url + place);
    await page.locator('h1').waitFor();
    await page.locator('[data-live="live"]').waitFor();
  }
  await page.goto(`${cluster.url}/tasks/${runs.evil}-L0-0`);
  await page.locator('[role=log]').getByText(evil).first().waitFor();
  assert.equal(await page.locator('[role=log] img, [role=log] script, [role=log] b').count(), 0);
  assert.equal(await page.locator('[role=log] .ansi-red').count(), 1);
  assert.deepEqual(page.wrong, []);
});

test('filters are in the address: they survive a reload and the way back', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs`);
  await page.locator(`[data-run="${runs.evil}"]`).waitFor();
  await page.getByLabel('State').selectOption('Completed');
  await until('only the completed run is shown', async () => (await page.locator('[data-run]').count()) === 1);
  await page.getByLabel('Labels').fill('team=data');
  await page.getByLabel('Labels').press('Enter');
  await page.waitForURL(/label=team/);
  await page.reload();
  await page.locator(`[data-run="${runs.hello}"]`).waitFor();
  assert.equal(await page.getByLabel('State').inputValue(), 'Completed');
  assert.equal(await page.getByLabel('Labels').inputValue(), 'team=data');
  assert.equal(await page.locator('[data-run]').count(), 1);
  await page.locator(`[data-run="${runs.hello}"]`).click();
  await page.locator('h1', { hasText: runs.hello }).waitFor();
  await page.goBack();
  await page.locator(`[data-run="${runs.hello}"]`).waitFor();
  assert.equal(await page.getByLabel('State').inputValue(), 'Completed');
});

test('the output of a running task is followed to its end', async () => {
  const run = cluster.submit(`
vortex: 1
name: slow
tasks:
  talk:
    shell: [bash, -c]
    run: "for i in $(seq 500); do echo line $i; sleep 0.1; test -e ${cluster.folder}/enough && break; done; echo the end"
`);
  await until('it runs', async () => (await cluster.get(`/api/tasks/${run}-L0-0`)).state === 'Running');
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/tasks/${run}-L0-0`);
  const lines = () => page.locator('[role=log]').getAttribute('data-lines').then(Number);
  const first = await until('some lines', lines);
  await until('more lines', async () => (await lines()) > first);
  writeFileSync(`${cluster.folder}/enough`, '');
  await page.getByText('the end', { exact: true }).waitFor();
  assert.equal(await cluster.ended(run), 'Completed');
  await page.getByLabel('Find').fill('the e');
  await page.getByText(`1 of ${await lines()} lines`).waitFor();
});

test('why a task does not run is said on its page and, unasked, on the overview', async () => {
  const run = cluster.submit(`
vortex: 1
name: stuck
tasks:
  train: {labels: {gpu: a100}, run: ["true"]}
`);
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/tasks/${run}-L0-0`);
  const why = await cluster.get(`/api/tasks/${run}-L0-0/explain`);
  for (const detail of why.details) await page.getByText(detail).first().waitFor();
  await page.goto(cluster.url);
  await page.getByText('Why nothing moves').waitFor();
  cluster.command('runs', 'cancel', run, '--yes');
  await page.getByText('Why nothing moves').waitFor({ state: 'detached' });
});

test('bulk re-drive of a drifted count is refused', async () => {
  const page = await openPage(browser);
  const other = cluster.submit(evilDag);
  await cluster.ended(other);
  await page.goto(`${cluster.url}/dead-letters`);
  await page.getByRole('button', { name: 'Re-drive all' }).click();
  const third = cluster.submit(evilDag);
  await cluster.ended(third);
  await page.getByRole('button', { name: 'Re-drive 2' }).click();
  await page.getByText('There are 3 open dead letters now, not 2').waitFor();
  assert.equal((await cluster.get('/api/status')).dead_letters, 3);
  await page.getByText('3 shown').waitFor();
  const byCommand = JSON.parse(cluster.command('dlq', 'discard', '--all', '--run', third, '--yes', '-o', 'json'));
  assert.deepEqual(byCommand, { done: 1, refused: [] });
  await page.getByText('2 shown').waitFor();
  await page.getByRole('button', { name: 'Discard all' }).click();
  await page.getByText('vortex dlq discard --all').waitFor();
  await page.getByRole('button', { name: 'Discard 2' }).click();
  await page.getByText('Discarded 2 dead letters').waitFor();
  assert.equal((await cluster.get('/api/status')).dead_letters, 0);
});

test('the first load is under 150 KB', async () => {
  const html = await (await fetch(cluster.url)).text();
  const files = ['/', ...[...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((found) => found[1])];
  let sum = 0;
  for (const file of files) {
    const answer = await fetch(cluster.url + file, { method: 'HEAD' });
    sum += Number(answer.headers.get('content-length'));
  }
  console.log(`first load: ${files.length} files, ${sum} bytes compressed`);
  assert.ok(sum > 20_000 && sum < 150_000, `${sum} bytes`);
});
