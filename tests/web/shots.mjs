// Screenshots of the main pages, for the docs and to be looked at: a small lively system, light and
// dark, 1440 and 390 pixels wide. Not a test:
//   VORTEX=build/release/bin/vortex node tests/web/shots.mjs FOLDER
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, openBrowser, openPage, until } from './lib.mjs';

const folder = process.argv[2];
if (!folder) throw new Error('name a folder for the pictures');
mkdirSync(folder, { recursive: true });

const nightly = (pause) => `
vortex: 1
name: nightly
params: {day: {type: string, default: "2026-02-22", help: the day to build}, rows: {type: number, default: 500}}
defaults: {shell: [bash, -c], retry: {max: 3, delay: 200ms}}
tasks:
  fetch: {run: "sleep 0.4; echo fetched"}
  check: {needs: [fetch], run: "sleep 0.2"}
  resize: {needs: [fetch], map: {over: {range: {from: 1, to: 60}}, as: part}, run: "sleep 0.$((RANDOM % 6 + 2))"}
  index: {needs: [check], run: "sleep ${pause}; test $VORTEX_ATTEMPT -gt 1 || exit 7"}
  train: {needs: [resize], run: "echo 40 epoch 2 of 5 > $VORTEX_PROGRESS; sleep 1.5"}
  report: {needs: [index, train], run: "sleep 0.3; printf '\\\\e[32mok\\\\e[0m all parts are there\\\\n'"}
`;
const importDag = `
vortex: 1
name: import
defaults: {shell: [bash, -c], retry: {max: 0}}
tasks:
  download: {map: {over: [eu, us, asia, africa], as: region}, env: {R: "\${{ map.region }}"}, run: "test $R != us || { echo 'no route to host' >&2; exit 3; }"}
  load: {needs: [download], run: "true"}
`;
const longDag = `
vortex: 1
name: render
defaults: {shell: [bash, -c]}
tasks:
  frames: {map: {over: {range: {from: 1, to: 8}}, as: frame}, run: "for i in $(seq 90); do echo $i rendering >> $VORTEX_PROGRESS; echo frame line $i; sleep 1; done"}
  film: {needs: [frames], run: "true"}
`;

const cluster = await Cluster.start();
const browser = await openBrowser();
try {
  const doomed = await cluster.startWorker('node-c', '--slots', '8', '--zone', 'b');
  await cluster.startWorker('node-a', '--slots', '8', '--label', 'gpu=a100', '--zone', 'a');
  await cluster.startWorker('node-b', '--slots', '8', '--zone', 'a');
  writeFileSync(join(cluster.folder, 'nightly.yaml'), nightly('0.5'));
  cluster.command('dag', 'apply', join(cluster.folder, 'nightly.yaml'));
  const before = cluster.submit(nightly('0.5'), '--label', 'team=images');
  await cluster.ended(before);
  const failed = cluster.submit(importDag, '--label', 'team=data');
  await cluster.ended(failed);
  const lively = cluster.submit(longDag, '--label', 'team=video');
  await until('it runs', async () => (await cluster.get(`/api/runs/${lively}`)).counts.Running >= 8);
  const held = (await cluster.get('/api/tasks?worker=node-c-1')).tasks[0];
  cluster.killWorker(doomed);
  await until('its tasks run again', async () => (await cluster.get('/api/recoveries')).recoveries.length > 0 && (await cluster.get(`/api/tasks/${held.id}`)).attempts > 1);
  const run = cluster.submit(nightly('1.6'), '--label', 'team=images', '-p', 'rows=900');
  await cluster.ended(run);
  const waiting = cluster.submit('vortex: 1\nname: gpu-train\ntasks:\n  train: {labels: {gpu: h100}, run: ["true"]}\n');
  const recovery = (await cluster.get('/api/recoveries')).recoveries[0].id;
  const letter = (await cluster.get('/api/dead-letters')).dead_letters[0].task;
  const pages = {
    overview: '/', runs: '/runs', 'run-list': `/runs/${lively}`, 'run-grid': `/runs/${run}?tab=grid`, 'run-timeline': `/runs/${run}?tab=time`,
    'run-graph': `/runs/${run}?tab=graph`, 'run-compare': `/runs/${run}?tab=compare`, 'run-attempts': `/runs/${run}?tab=verdicts`,
    'run-ledger': `/runs/${lively}?tab=ledger`, task: `/tasks/${held.id}`, 'task-waiting': `/tasks/${waiting}-L0-0`, 'task-failed': `/tasks/${letter}`,
    workers: '/workers', worker: '/workers/node-a-1', 'worker-lost': '/workers/node-c-1', machines: '/machines', queues: '/queues', leases: '/leases', recoveries: '/recoveries',
    recovery: `/recoveries/${recovery}`, 'dead-letters': '/dead-letters', events: '/events', dags: '/dags', dag: '/dags/nightly',
    settings: '/settings', webhooks: '/webhooks', tokens: '/tokens',
  };
  const wanted = process.argv.slice(3);
  for (const [width, height] of [[1440, 900], [390, 844]]) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await openPage(browser, { viewport: { width, height }, colorScheme });
      for (const [name, place] of Object.entries(pages)) {
        if (wanted.length && !wanted.includes(name)) continue;
        await page.goto(cluster.url + place);
        await page.locator('h1').waitFor();
        await page.locator('[data-live="live"]').waitFor();
        await page.waitForLoadState('networkidle', { timeout: 1_500 }).catch(() => {});
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wide > 0) console.log(`${name} at ${width}: ${wide} pixels too wide`);
      }
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await cluster.stop();
}
