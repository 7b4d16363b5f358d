// Much on one page: ten thousand tasks, a map of a hundred thousand items, a thousand workers. How
// soon it can be used, and whether it scrolls. Other work on the machine must not fail these tests:
// several tries are made, and the first rows are compared with what the API alone takes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, openBrowser, openPage, until } from './lib.mjs';

const map = (name, items) => `
vortex: 1
name: ${name}
tasks:
  each: {map: {over: {range: {from: 1, to: ${items}}}, as: n}, run: ["true"]}
  end: {needs: [each], run: ["true"]}
`;
const tries = 3;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

let cluster;
let browser;
let large;
before(async () => {
  cluster = await Cluster.start();
  browser = await openBrowser();
  large = cluster.submit(map('large', 10_000));
  await until('all tasks are made', async () => (await cluster.get(`/api/runs/${large}`)).counts.Queued === 10_000);
});
after(async () => {
  await browser?.close();
  await cluster?.stop();
});

/** The longest time between two frames while something scrolls. */
function longestFrame(page, selector, step) {
  return page.evaluate(async ([wanted, by]) => {
    const box = document.querySelector(wanted);
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    await frame();
    let longest = 0;
    let last = performance.now();
    for (let at = 0; at < 60; at += 1) {
      box.scrollTop += by;
      await frame();
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return { longest, top: box.scrollTop };
  }, [selector, step]);
}

/**
 * Prints the longest frame of each try; 100 ms is what we aim at. Other work on the machine delays frames, too, so
 * only what no noise explains fails: a quarter of a second in every one of nine tries.
 */
async function scrolls(page, what, step = 2_500) {
  const found = [];
  const clean = () => found.filter((ms) => ms <= 100).length;
  const bearable = () => found.some((ms) => ms <= 250);
  while (clean() < 2 && found.length < 9) {
    await page.evaluate(() => { document.querySelector('[role=list]').scrollTop = 0; });
    const one = await longestFrame(page, '[role=list]', step);
    assert.ok(one.top > 1_000, `${what} did not scroll`);
    found.push(one.longest);
  }
  console.log(`${what}: longest frame while scrolling ${found.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  assert.ok(bearable(), `${what}: frames of ${found.map((ms) => ms.toFixed(0)).join(', ')} ms, never less than 250 ms`);
}

test('a run of 10,000 tasks is usable within two seconds', async () => {
  const page = await openPage(browser);
  await page.goto(cluster.url);
  await page.locator('[data-live="live"]').waitFor();
  const found = [];
  const direct = [];
  for (let at = 0; at < tries; at += 1) {
    let began = Date.now();
    await cluster.get(`/api/runs/${large}/tasks?limit=1000`);
    direct.push(Date.now() - began);
    began = Date.now();
    await page.goto(`${cluster.url}/runs/${large}`);
    await page.locator('[data-task]').nth(10).waitFor();
    found.push(Date.now() - began);
  }
  const began = Date.now();
  await until('all are listed', async () => Number(await page.locator('[data-shown]').getAttribute('data-shown')) >= 10_000);
  console.log(`10,000 tasks: usable after ${found.join(', ')} ms (the first 1,000 tasks from the API alone: ${direct.join(', ')} ms), all listed ${Date.now() - began} ms later`);
  const rows = await page.locator('[data-task]').count();
  assert.ok(rows < 100, `${rows} rows are in the page`);
  // A program built with sanitizers answers far slower than the one that people use.
  const limit = Math.max(2_000, 5 * median(direct));
  assert.ok(median(found) <= limit, `${median(found)} ms, at most ${limit} ms`);
});

test('its list, its timeline and its grid scroll smoothly', async () => {
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs/${large}`);
  await until('all are listed', async () => Number(await page.locator('[data-shown]').getAttribute('data-shown')) >= 10_000);
  await scrolls(page, 'list of 10,000 tasks');
  for (const [tab, what] of [['time', 'timeline'], ['grid', 'grid']]) {
    await page.locator(`.tabs a[href="?tab=${tab}"]`).click();
    await until('all rows are there', () => page.evaluate(() => document.querySelector('[role=list]')?.scrollHeight > 4_000));
    await scrolls(page, `${what} of 10,000 tasks`, tab === 'grid' ? 60 : 2_500);
  }
  assert.deepEqual(page.wrong, []);
});

test('a map of 100,000 items is one node in the graph, and a list that scrolls', async () => {
  const run = cluster.submit(map('vast', 100_000));
  const page = await openPage(browser);
  await page.goto(`${cluster.url}/runs/${run}?tab=graph`);
  await page.locator('[data-node="each"]', { hasText: '×100,000' }).waitFor();
  assert.equal(await page.locator('[data-node]').count(), 2);
  await until('all tasks are made', async () => (await cluster.get(`/api/runs/${run}`)).counts.Queued === 100_000, 240_000);
  await page.goto(`${cluster.url}/runs/${run}`);
  await until('all are listed', async () => Number(await page.locator('[data-shown]').getAttribute('data-shown')) >= 100_000, 240_000);
  await scrolls(page, 'list of 100,000 items', 40_000);
  assert.ok((await page.locator('[data-task]').count()) < 100);
  cluster.command('runs', 'cancel', run, '--yes');
});

test('a thousand workers are one page', async () => {
  for (let at = 0; at < 1_000; at += 50) {
    await Promise.all(Array.from({ length: 50 }, async (_, one) => {
      const answer = await fetch(`${cluster.url}/api/workers`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ id: `node-${String(at + one).padStart(4, '0')}`, slots: 4, zone: `z${at % 3}` }),
      });
      assert.equal(answer.status, 200);
    }));
  }
  const page = await openPage(browser);
  const began = Date.now();
  await page.goto(`${cluster.url}/workers`);
  await page.getByText('1,000 workers').waitFor();
  console.log(`1,000 workers: listed after ${Date.now() - began} ms`);
  assert.ok((await page.locator('[data-worker]').count()) < 100);
  await scrolls(page, 'list of 1,000 workers', 500);
  await page.getByLabel('Find').fill('node-0777');
  await page.locator('[data-worker="node-0777"]').waitFor();
  assert.equal(await page.locator('[data-worker]').count(), 1);
});
