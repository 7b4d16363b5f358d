// A real controller with real workers, and a real browser that looks at it. Everything that a test
// starts ends with it, by its process id.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const fromWeb = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = fromWeb('playwright-core');
const axeSource = readFileSync(fromWeb.resolve('axe-core/axe.min.js'), 'utf8');
const vortex = process.env.VORTEX;
if (!vortex) throw new Error('set VORTEX to the program');

export function freePort() {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Waits until it gives something true, and gives that back. */
export async function until(what, look, limitMs = 60_000) {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() - began > limitMs) throw new Error(`it never came true: ${what}`);
    await new Promise((done) => setTimeout(done, 40));
  }
}

/** A process and all that it started, as they are now. */
function family(pid) {
  const parents = new Map();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

export class Cluster {
  static async start({ tokens = false } = {}) {
    const made = new Cluster();
    made.folder = mkdtempSync(join(tmpdir(), 'vortex-web-'));
    made.port = await freePort();
    made.url = `http://127.0.0.1:${made.port}`;
    made.tokens = tokens;
    made.processes = [];
    await made.startController();
    return made;
  }

  launch(args) {
    const log = openSync(join(this.folder, `${args[0]}.log`), 'a');
    const child = spawn(vortex, args, { stdio: ['ignore', log, log], cwd: this.folder });
    this.processes.push(child);
    return child;
  }

  async startController() {
    this.controller = this.launch([
      'controller', `--database.path=${this.folder}/vortex.db`, `--controller.listen=127.0.0.1:${this.port}`,
      '--tuning=testing', `--controller.require-tokens=${this.tokens}`,
    ]);
    await until('the controller is ready', () => fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false));
  }
  async killController() {
    const gone = new Promise((done) => this.controller.once('exit', done));
    this.controller.kill('SIGKILL');
    await gone;
  }

  async startWorker(name, ...more) {
    const child = this.launch(['worker', '--server', this.url, '--name', name, '--tuning=testing', '--state-dir', join(this.folder, name), ...more]);
    await until(`worker ${name} is there`, async () => (await this.get('/api/workers?state=ACTIVE')).workers.some((worker) => worker.id.startsWith(name)));
    return child;
  }
  /** The supervisor and everything below it, at once: nobody is left to say what happened. */
  killWorker(child) {
    for (const pid of family(child.pid)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (gone) {
        // What lost the one above it may have ended by itself.
        if (gone.code !== 'ESRCH') throw gone;
      }
    }
  }

  command(...args) {
    return execFileSync(vortex, ['--server', this.url, ...args], { cwd: this.folder, encoding: 'utf8' }).trim();
  }
  submit(yaml, ...more) {
    const file = join(this.folder, `dag-${Math.random().toString(36).slice(2)}.yaml`);
    writeFileSync(file, yaml);
    return this.command('run', file, '--detach', '-q', ...more);
  }
  token(role) {
    const made = JSON.parse(this.command('tokens', 'create', role, '--role', role, '-o', 'json'));
    return made.secret;
  }
  async get(path) {
    const headers = this.tokens ? { Authorization: `Bearer ${readFileSync(`${this.folder}/vortex.db.token`, 'utf8').trim()}` } : {};
    return (await fetch(this.url + path, { headers })).json();
  }
  async ended(run) {
    return until(`${run} has ended`, async () => {
      const { state } = await this.get(`/api/runs/${run}`);
      return state === 'Running' ? null : state;
    });
  }

  async stop() {
    for (const child of this.processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const gone = new Promise((done) => child.once('exit', done));
      const all = family(child.pid);
      child.kill('SIGTERM');
      const slow = setTimeout(() => all.forEach((pid) => { try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ } }), 5_000);
      await gone;
      clearTimeout(slow);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** A page of its own; whatever goes wrong in it is kept in `page.wrong`. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.wrong = [];
  page.on('pageerror', (error) => page.wrong.push(String(error)));
  page.on('dialog', (dialog) => {
    page.wrong.push(`a script ran: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (line) => {
    if (line.type() === 'error' && line.text().includes('Content Security Policy')) page.wrong.push(line.text());
  });
  return page;
}

/** What axe-core finds wrong. Its script is run by the browser's tools, which the page's policy does not bind. */
export async function axe(page, rules = null) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async (only) => {
    const result = await globalThis.axe.run(document, { resultTypes: ['violations'], ...(only ? { runOnly: only } : {}) });
    return result.violations.map((one) => `${one.id}: ${one.help} (${one.nodes.map((node) => node.target.join(' ')).slice(0, 3).join('; ')})`);
  }, rules);
  return found;
}

export const helloDag = `
vortex: 1
name: hello
tasks:
  greet: {run: [echo, hello]}
  reply: {needs: [greet], run: [echo, hello to you]}
`;
