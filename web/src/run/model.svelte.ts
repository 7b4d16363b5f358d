// The tasks of one run as they are now: read once page by page, then patched by events. A row
// that changes is replaced; one number says that something did, so that ten thousand rows cost no
// more than the few in sight.
import { api, Failure, got, type Attempt, type Task, type VortexEvent } from '../api/client';

/** What an event says about the state of its task. */
export const stateAfter: Record<string, Task['state']> = {
  task_claimed: 'Scheduled',
  task_started: 'Running',
  task_complete: 'Completed',
  task_retry: 'Queued',
  task_requeued: 'Queued',
  task_reassigned: 'Scheduled',
  task_cancelled: 'Cancelled',
  task_redriven: 'Queued',
  task_dead_lettered: 'Failed',
};

const touchedMs = 700;
const everythingMs = 5_000;
const oneByOneMax = 40;

export class RunTasks {
  version = $state(0);
  complete = $state(false);
  failure = $state.raw<Failure | null>(null);
  tasks: Task[] = [];
  attempts = new Map<string, Attempt[]>();
  readonly run: string;
  #at = new Map<string, number>(); // where each task is in the list
  #turn = 0;
  #touched = new Set<string>();
  #due: ReturnType<typeof setTimeout> | null = null;

  constructor(run: string) {
    this.run = run;
  }

  /** Everything anew, page by page; what is there stays until its page comes. */
  async read() {
    const turn = ++this.#turn;
    let cursor: string | undefined;
    try {
      do {
        const page = await got(api.GET('/api/runs/{run}/tasks', { params: { path: { run: this.run }, query: { limit: 1000, cursor } } }));
        if (turn !== this.#turn) return;
        for (const task of page.tasks) {
          this.#put(task);
        }
        this.version += 1;
        cursor = page.next_cursor ?? undefined;
      } while (cursor);
      this.complete = true;
      this.failure = null;
    } catch (error) {
      if (turn === this.#turn && error instanceof Failure) this.failure = error;
    }
  }

  async readAttempts() {
    let cursor: string | undefined;
    try {
      do {
        const page = await got(api.GET('/api/runs/{run}/attempts', { params: { path: { run: this.run }, query: { limit: 1000, cursor } } }));
        const fresh = new Map<string, Attempt[]>();
        for (const attempt of page.attempts) {
          const list = fresh.get(attempt.task);
          if (list) list.push(attempt);
          else fresh.set(attempt.task, [attempt]);
        }
        for (const [task, list] of fresh) this.attempts.set(task, list);
        this.version += 1;
        cursor = page.next_cursor ?? undefined;
      } while (cursor);
    } catch (error) {
      if (error instanceof Failure) this.failure = error;
    }
  }

  #put(task: Task) {
    const at = this.#at.get(task.id);
    if (at !== undefined) {
      this.tasks[at] = task;
      return;
    }
    const last = this.tasks.at(-1);
    this.#at.set(task.id, this.tasks.push(task) - 1);
    if (!last || last.index < task.index) return;
    this.tasks.sort((a, b) => a.index - b.index);
    this.tasks.forEach((one, index) => this.#at.set(one.id, index));
  }

  /** Shows at once what events say, and reads those tasks again where they say too little. */
  apply(events: VortexEvent[]) {
    let changed = false;
    for (const event of events) {
      if (event.run_id !== this.run || !event.task_id) continue;
      const at = this.#at.get(event.task_id);
      const known = at === undefined ? undefined : this.tasks[at];
      const state = stateAfter[event.event];
      if (at !== undefined && known && state) {
        const task = { ...known, state, updated_at: event.ts };
        this.tasks[at] = task;
        if (event.event === 'task_claimed' || event.event === 'task_started') task.worker = event.worker_id;
        if (event.event === 'task_started') task.started_at = event.ts;
        if (state === 'Queued') task.worker = null;
        changed = true;
      }
      this.#touched.add(event.task_id);
    }
    if (changed) this.version += 1;
    if (this.#touched.size && !this.#due) this.#due = setTimeout(() => void this.#readTouched(), touchedMs);
  }

  async #readTouched() {
    const ids = [...this.#touched];
    this.#touched.clear();
    if (ids.length > oneByOneMax) {
      // What the events said is shown already; the rest of these rows can wait a little.
      this.#due = setTimeout(() => void this.#readAll(), everythingMs);
      return;
    }
    await Promise.all(ids.map((id) => this.#readOne(id)));
    this.version += 1;
    this.#due = this.#touched.size ? setTimeout(() => void this.#readTouched(), touchedMs) : null;
  }

  async #readAll() {
    this.#touched.clear();
    await this.read();
    if (this.attempts.size) await this.readAttempts();
    this.#due = this.#touched.size ? setTimeout(() => void this.#readTouched(), touchedMs) : null;
  }

  async #readOne(id: string) {
    try {
      this.#put(await got(api.GET('/api/tasks/{task}', { params: { path: { task: id } } })));
      if (this.attempts.size) {
        const { attempts } = await got(api.GET('/api/tasks/{task}/attempts', { params: { path: { task: id } } }));
        this.attempts.set(id, attempts);
      }
    } catch {
      // Gone, or the connection is: what follows reads it again.
    }
  }

  stop() {
    this.#turn += 1;
    if (this.#due) clearTimeout(this.#due);
  }
}
