// Two runs of a DAG, node by node: how long each took, how its tasks ended, what got slower.
import { api, got, type Run, type Task } from '../api/client';
import { millis } from '../lib/format';

export interface NodeSums {
  tasks: number;
  states: Record<string, number>;
  took: number | null; // from the first start to the last end; null: nothing ran
  slowest: number; // the longest task
  attempts: number;
}

export interface Difference {
  node: string;
  now: NodeSums | null; // null: only in the other run
  before: NodeSums | null;
  change: number | null; // of the time taken, in ms
}

export function sumNodes(tasks: Task[]): Map<string, NodeSums> {
  const sums = new Map<string, NodeSums & { from: number; to: number }>();
  for (const task of tasks) {
    let sum = sums.get(task.node);
    if (!sum) {
      sum = { tasks: 0, states: {}, took: null, slowest: 0, attempts: 0, from: Infinity, to: -Infinity };
      sums.set(task.node, sum);
    }
    sum.tasks += 1;
    sum.attempts += task.attempts;
    sum.states[task.state] = (sum.states[task.state] ?? 0) + 1;
    const started = millis(task.started_at);
    if (started === null) continue;
    const ended = Math.max(started, Date.parse(task.updated_at));
    sum.slowest = Math.max(sum.slowest, ended - started);
    sum.from = Math.min(sum.from, started);
    sum.to = Math.max(sum.to, ended);
    sum.took = sum.to - sum.from;
  }
  return sums;
}

/** What changed most comes first: nodes that are only in one run, then by how much slower they got. */
export function compareRuns(now: Task[], before: Task[]): Difference[] {
  const ours = sumNodes(now);
  const theirs = sumNodes(before);
  const nodes = [...new Set([...ours.keys(), ...theirs.keys()])];
  const made = nodes.map((node): Difference => {
    const a = ours.get(node) ?? null;
    const b = theirs.get(node) ?? null;
    return { node, now: a, before: b, change: a?.took != null && b?.took != null ? a.took - b.took : null };
  });
  return made.sort((a, b) => (b.change ?? Infinity) - (a.change ?? Infinity));
}

/** The newest run of the same DAG that is older than this one and has ended. */
export async function runBefore(run: { id: string; dag: string }): Promise<Run | null> {
  const number = Number(run.id.slice(1));
  let cursor: string | undefined;
  for (let pages = 0; pages < 10; pages += 1) {
    const page = await got(api.GET('/api/runs', { params: { query: { dag: run.dag, limit: pages === 0 ? 20 : 1000, cursor } } }));
    const found = page.runs.find((other) => Number(other.id.slice(1)) < number && other.finished_at);
    if (found) return found;
    if (!page.next_cursor) return null;
    cursor = page.next_cursor;
  }
  return null;
}

/** Up to this many tasks are compared: ten pages. */
export const comparedMax = 10_000;

export async function tasksOf(run: string): Promise<Task[]> {
  const all: Task[] = [];
  let cursor: string | undefined;
  do {
    const page = await got(api.GET('/api/runs/{run}/tasks', { params: { path: { run }, query: { limit: 1000, cursor } } }));
    all.push(...page.tasks);
    cursor = page.next_cursor ?? undefined;
  } while (cursor && all.length < comparedMax);
  return all;
}
