import { expect, test } from 'vitest';
import type { VortexEvent } from '../api/client';
import { storyOf } from './story';

const at = (ms: number) => new Date(1_000_000 + ms).toISOString();
let seq = 0;
const event = (ms: number, name: string, worker: string | null, task: string | null = null) => ({ seq: ++seq, ts: at(ms), event: name, data: {}, worker_id: worker, task_id: task }) as unknown as VortexEvent;
const recovery = (ms: number, tasks = 2) => ({ worker: 'w1', at: at(ms), num_tasks: tasks });

test('a recovery goes from the last word of the worker to the last of its tasks that runs again', () => {
  const events = [
    event(0, 'task_started', 'w1', 'a'), event(100, 'task_started', 'w1', 'b'), event(150, 'task_complete', 'w2', 'x'),
    event(400, 'worker_crash', 'w1'), event(401, 'task_requeued', 'w1', 'a'), event(401, 'task_requeued', 'w1', 'b'),
    event(401, 'worker_offline', 'w1'), event(700, 'task_started', 'w2', 'a'), event(900, 'task_started', 'w3', 'b'),
    event(950, 'task_started', 'w3', 'other'),
  ];
  expect(storyOf(recovery(401), events)).toEqual({ heard: at(100), evidence: at(400), again: at(900) });
  expect(storyOf(recovery(401), events.slice(0, 8)).again).toBe(null);
});

test('the evidence is that of this loss, not of an earlier one', () => {
  const events = [
    event(0, 'worker_crash', 'w1'), event(1, 'worker_offline', 'w1'), event(100, 'worker_registered', 'w1'),
    event(300, 'heartbeat_stale', 'w1'), event(300, 'worker_offline', 'w1'),
  ];
  expect(storyOf(recovery(300, 0), events)).toEqual({ heard: at(100), evidence: at(300), again: null });
});

test('what is not among the events is not known', () => {
  expect(storyOf(recovery(300), [])).toEqual({ heard: null, evidence: null, again: null });
});
