// When a task waited and when it ran, as bars between two times.
import type { Attempt, Run, Task } from '../api/client';
import { millis } from '../lib/format';
import { verdictTone, type Tone } from '../lib/states';

export interface Bar {
  from: number;
  to: number;
  kind: 'queued' | 'assigned' | 'ran';
  tone: Tone;
  text: string;
}

/** When what each node needs had ended: before that, its tasks waited for no worker. */
export function readyTimes(tasks: Task[], needs: Map<string, string[]>): Map<string, number> {
  const ends = new Map<string, number>();
  for (const task of tasks) ends.set(task.node, Math.max(ends.get(task.node) ?? 0, Date.parse(task.updated_at)));
  const ready = new Map<string, number>();
  for (const [node, needed] of needs) ready.set(node, Math.max(0, ...needed.map((name) => ends.get(name) ?? 0)));
  return ready;
}

/** From when the task could start: hatched while it waited, then every attempt. */
export function barsOf(task: Task, attempts: Attempt[], when: { now: number; ready?: number }): Bar[] {
  const { now } = when;
  const bars: Bar[] = [];
  let waits = Math.max(millis(task.created_at) ?? now, when.ready ?? 0);
  for (const attempt of attempts) {
    const granted = millis(attempt.granted_at);
    const started = millis(attempt.started_at);
    const ended = millis(attempt.ended_at) ?? now;
    const taken = granted ?? started ?? ended;
    if (taken > waits) bars.push({ from: waits, to: taken, kind: 'queued', tone: 'wait', text: 'queued' });
    const from = started ?? ended;
    if (from > taken) bars.push({ from: taken, to: from, kind: 'assigned', tone: 'quiet', text: `assigned to ${attempt.worker}` });
    const outcome = attempt.verdict ? attempt.verdict.replaceAll('_', ' ') : 'running';
    if (started !== null) bars.push({ from: started, to: Math.max(ended, started), kind: 'ran', tone: verdictTone(attempt.verdict), text: `try ${attempt.number} on ${attempt.worker}: ${outcome}` });
    waits = ended;
  }
  if (task.state === 'Queued' && now > waits) bars.push({ from: waits, to: now, kind: 'queued', tone: 'wait', text: 'queued' });
  return bars;
}

export interface Span {
  from: number;
  to: number;
}
export function spanOf(run: Run, now: number): Span {
  const from = millis(run.created_at) ?? now;
  return { from, to: Math.max(millis(run.finished_at) ?? now, from + 1000) };
}

/** About six round moments within the span, as offsets from its start. */
export function ticks(span: Span): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * 1000);
  const length = span.to - span.from;
  const step = steps.find((one) => length / one <= 7) ?? Math.ceil(length / 6 / 86_400_000) * 86_400_000;
  const made: number[] = [];
  for (let at = 0; at <= length; at += step) made.push(at);
  return made;
}

/** The tasks that decided how long the run took: from the last to end, back by whoever it waited for. */
export function criticalPath(tasks: Task[], needs: Map<string, string[]>): Set<string> {
  const lastOf = new Map<string, Task>();
  for (const task of tasks) {
    const known = lastOf.get(task.node);
    if (!known || Date.parse(task.updated_at) > Date.parse(known.updated_at)) lastOf.set(task.node, task);
  }
  let at: Task | undefined;
  for (const task of lastOf.values()) if (!at || Date.parse(task.updated_at) > Date.parse(at.updated_at)) at = task;
  const path = new Set<string>();
  while (at && !path.has(at.id)) {
    path.add(at.id);
    const before: Task[] = (needs.get(at.node) ?? []).map((name) => lastOf.get(name)).filter((task) => task !== undefined);
    before.sort((a, b) => Date.parse(b.updated_at) - Date.parse(a.updated_at));
    at = before[0];
  }
  return path;
}

/** How long the tasks of a path ran, all together; the rest of the time they waited. */
export function timeOnPath(tasks: Task[], path: Set<string>): number {
  let sum = 0;
  for (const task of tasks) {
    const started = path.has(task.id) ? millis(task.started_at) : null;
    if (started !== null) sum += Math.max(0, Date.parse(task.updated_at) - started);
  }
  return sum;
}
