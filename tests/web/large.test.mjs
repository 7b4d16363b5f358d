// Ten thousand tasks on one page: how soon it can be used, and whether it scrolls.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, openBrowser, openPage, until } from './lib.mjs';

const items = Array.from({ length: 10_000 }, (_, at) => at).join(', ');
const large = `
vortex: 1
name: large
tasks:
  each: {map: {over: [${items}], as: n}, run: ["true"]}
  end: {needs: [each], run: ["true"]}
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

test('a run of 10,000 tasks is usable quickly and scrolls', async () => {
  const run = cluster.submit(large);
  await until('all tasks are made', async () => (await cluster.get(`/api/runs/${run}`)).counts.Queued === 10_000);
  const page = await openPage(browser);
  await page.goto(cluster.url);
  await page.locator('[data-live="live"]').waitFor();
  const began = Date.now();
  await page.goto(`${cluster.url}/runs/${run}`);
  await page.locator('[data-task]').first().waitFor();
  const usable = Date.now() - began;
  await until('all are listed', async () => Number(await page.locator('[data-shown]').getAttribute('data-shown')) >= 10_000);
  const all = Date.now() - began;
  const rows = await page.locator('[data-task]').count();
  const frames = await page.evaluate(async () => {
    const box = document.querySelector('[role=list]');
    const times = [];
    let last = performance.now();
    for (let step = 0; step < 60; step += 1) {
      box.scrollTop += 2_500;
      await new Promise((done) => requestAnimationFrame(done));
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    return { longest: Math.max(...times), mean: times.reduce((a, b) => a + b) / times.length };
  });
  await page.goto(`${cluster.url}/runs/${run}?tab=graph`);
  await page.locator('[data-node="each"]', { hasText: '×10,000' }).waitFor();
  assert.equal(await page.locator('[data-node]').count(), 2);
  console.log(`10,000 tasks: first rows after ${usable} ms, all listed after ${all} ms, ${rows} rows in the page, longest frame while scrolling ${frames.longest.toFixed(0)} ms, mean ${frames.mean.toFixed(0)} ms`);
  assert.ok(rows < 100, `${rows} rows are in the page`);
  assert.ok(usable < 15_000 && frames.longest < 2_000, 'far slower than on any quiet machine');
});
