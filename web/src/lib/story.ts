// What is known of a recovery from the events around it: when its worker was last heard, when the
// evidence came, when the tasks that were taken back ran again.
import type { Recovery, VortexEvent } from '../api/client';

export interface Story {
  heard: string | null;
  evidence: string | null;
  again: string | null; // the last of its tasks that ran again; null: none, or not all yet
}

// What a worker says itself; the rest is said about it.
const byItself = ['worker_registered', 'worker_ready', 'heartbeat_recovered', 'task_started', 'task_complete', 'task_failed'];
const evidences = ['worker_crash', 'worker_exit', 'heartbeat_stale', 'worker_reset', 'worker_offline'];
export const storyKinds = [...byItself, ...evidences, 'task_requeued'];

const sameMs = 5; // events of one moment
const evidenceMaxMs = 600_000;

/** `events` of all workers, oldest first. */
export function storyOf(recovery: Pick<Recovery, 'worker' | 'at' | 'num_tasks'>, events: VortexEvent[]): Story {
  const at = Date.parse(recovery.at);
  const before = events.filter((event) => event.worker_id === recovery.worker && Date.parse(event.ts) <= at + sameMs);
  const lost = before.filter((event) => evidences.includes(event.event) && at - Date.parse(event.ts) < evidenceMaxMs);
  // Of the evidence for this loss and not for an earlier one: what came after it was last heard.
  const heard = before.filter((event) => byItself.includes(event.event) && Date.parse(event.ts) <= at).at(-1);
  const evidence = lost.find((event) => event.seq > (heard?.seq ?? 0)) ?? lost.at(-1);
  const reclaimed = new Set(before.filter((event) => event.event === 'task_requeued' && Math.abs(Date.parse(event.ts) - at) <= sameMs).map((event) => event.task_id));
  let again: string | null = null;
  for (const event of events) {
    if (event.event !== 'task_started' || Date.parse(event.ts) < at || !reclaimed.delete(event.task_id)) continue;
    again = event.ts;
  }
  return { heard: heard?.ts ?? null, evidence: evidence?.ts ?? null, again: reclaimed.size === 0 ? again : null };
}
