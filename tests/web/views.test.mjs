// Ways to look at runs and DAGs: grid, critical path, comparison, saved views, versions, checks.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Cluster, axe, openBrowser, openPage, until } from './lib.mjs';

const dag = (pause) => `
vortex: 1
name: build
params: {dir: {type: string, default: /srv}, n: {type: number, default: 1}}
tasks:
  list: {run: ["true"]}
  each: {needs: [list], map: {over: [a, b, c, d], as: item}, run: ["true"]}
  slow: {needs: [list], run: [sleep, "${pause}"]}
  flaky: {needs: [list], retry: {max: 2, delay: 100ms}, shell: [bash, -c], run: "test $VORTEX_ATTEMPT -gt 1"}
  last: {needs: [each, slow, flaky], run: ["true"]}
`;

let cluster;
let browser;
let first;
let second;
before(async () => {
  cluster = await Cluster.start();
  browser = await openBrowser();
  await cluster.startWorker('w', '--slots', '8');
  first = cluster.submit(dag('0.1'), '-p', 'dir=/tmp/a b');
  assert.equal(await cluster.ended(first), 'Completed');
  second = cluster.submit(dag('2'));
  assert.equal(await cluster.ended(second), 'Completed');
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

test('the grid has a cell for every task, and one for every attempt of a task that was tried again', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs/${second}?tab=grid`);
  await page.locator('[data-cell]').first().waitFor();
  await until('the attempts are there', async () => (await page.locator('[role=list] .cells a').count()) === 9);
  assert.equal(await page.locator('[data-cell]').count(), 7);
  await page.getByLabel(/attempt 1 on w-1: exit code/).waitFor();
  await page.getByLabel(/attempt 2 on w-1: completed/).waitFor();
  assert.deepEqual(await axe(page), []);
  await page.locator('[data-cell]').first().click();
  await page.locator('h1').waitFor();
  assert.match(page.url(), /\/tasks\//);
});

test('the critical path is what the run waited for, in the list, the timeline and the graph', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs/${second}?critical=yes`);
  await until('only its tasks are listed', async () => (await page.locator('[data-shown]').getAttribute('data-shown')) === '3');
  const nodes = await page.locator('[data-task] strong').allInnerTexts();
  assert.deepEqual(nodes.sort(), ['last', 'list', 'slow']);
  await page.getByText(/running, of/).waitFor();
  await page.goto(`${cluster.url}/runs/${second}?tab=graph`);
  await page.locator('[data-node="slow"].critical').waitFor();
  assert.equal(await page.locator('[data-node="each"].critical').count(), 0);
  await page.goto(`${cluster.url}/runs/${second}?tab=time`);
  await page.locator('.line.critical', { hasText: 'slow' }).waitFor();
});

test('a run is compared with the one before it, what got slower first', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs/${second}`);
  await page.getByRole('link', { name: 'compare', exact: true }).click();
  await page.locator('[data-compared]').first().waitFor();
  assert.equal(await page.locator('[data-compared]').count(), 5);
  await until('slow is first', async () => (await page.locator('[data-compared]').first().getAttribute('data-compared')) === 'slow');
  await page.locator('[data-compared="slow"]', { hasText: 'slower' }).waitFor();
  await page.getByText('another version of the DAG').waitFor();
  await page.getByLabel('Compare with').fill(second);
  await page.getByLabel('Compare with').press('Enter');
  await page.waitForURL(/with=/);
  await page.goto(`${cluster.url}/runs/${first}?tab=compare`);
  await page.getByText('No earlier run of build has ended').waitFor();
});

test('runs are found by param, and the view is kept under a name', async () => {
  assert.equal(cluster.command('runs', 'list', '--param', 'dir=/tmp/a b', '-o', 'name'), first);
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs`);
  await page.locator(`[data-run="${second}"]`).waitFor();
  await page.getByLabel('Param').fill('nonsense');
  await page.getByLabel('Param').press('Enter');
  await page.getByText('Params are written name=value').waitFor();
  await page.getByLabel('Param').fill('dir=/tmp/a b');
  await page.getByLabel('Param').press('Enter');
  await until('only the first run is shown', async () => (await page.locator('[data-run]').count()) === 1);
  await page.locator(`[data-run="${first}"]`).waitFor();
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.getByLabel('Name of the view').fill('<b>a b</b>');
  await page.getByLabel('Name of the view').press('Enter');
  await page.locator('[data-view]').waitFor();
  assert.equal(await page.locator('[data-view]').innerText(), '<b>a b</b>');
  await page.reload();
  await page.locator(`[data-run="${first}"]`).waitFor();
  assert.equal(await page.locator('[data-run]').count(), 1);
  await page.getByRole('link', { name: 'Clear' }).click();
  await page.locator(`[data-run="${second}"]`).waitFor();
  await page.locator('[data-view]').click();
  await until('only the first run is shown', async () => (await page.locator('[data-run]').count()) === 1);
  assert.deepEqual(await axe(page), []);
  await page.getByLabel(/Remove the param/).click();
  await page.locator(`[data-run="${second}"]`).waitFor();
  await page.getByLabel(/Delete the view/).click();
  await page.locator('[data-view]').waitFor({ state: 'detached' });
  await page.reload();
  await page.locator(`[data-run="${second}"]`).waitFor();
  assert.equal(await page.locator('[data-view]').count(), 0);
  assert.deepEqual(page.wrong, []);
});

test('versions are those that runs used, each with its source and difference', async () => {
  writeFileSync(`${cluster.folder}/build.yaml`, dag('3'));
  cluster.command('dag', 'apply', `${cluster.folder}/build.yaml`);
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/dags/build`);
  await page.locator('[data-version]').first().waitFor();
  assert.equal(await page.locator('[data-version]').count(), 3);
  await page.locator('[data-version]', { hasText: 'stored' }).waitFor();
  await page.locator('[data-version]', { hasText: first }).getByRole('button', { name: 'Compare' }).click();
  await page.locator('.diff .in', { hasText: '"3"' }).waitFor();
  await page.locator('.diff .out', { hasText: '"0.1"' }).waitFor();
  assert.equal(await page.locator('.diff .in').count(), 1);
  assert.deepEqual(await axe(page), []);
  await page.reload();
  await page.locator('.diff .in').waitFor();
});

test('a DAG file is checked with lines and columns', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/dags`);
  const area = page.getByLabel(/YAML or JSON/);
  await area.fill('vortex: 1\nname: hello\ntasks:\n  greet:\n    run: [echo, hello]\n    retires: 3\n');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByRole('button', { name: 'line 6, column 5' }).click();
  assert.equal(await area.evaluate((box) => box.value.slice(box.selectionStart, box.selectionEnd)), '    retires: 3');
  await page.getByText(/did you mean/).waitFor();
  await area.fill('vortex: 1\nname: hello\ntasks:\n  greet: {run: [echo, hello]}\n');
  await area.press('Control+Enter');
  await page.getByText('Valid: hello, 1 node, 1 task, 1 level').waitFor();
  await page.locator('[data-node="greet"]').waitFor();
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(page.wrong, []);
});
