import { expect, test } from 'vitest';
import type { VortexEvent } from '../api/client';
import { availability, livesOf } from './lives';

const at = (second: number) => new Date(second * 1000).toISOString();
let seq = 0;
const event = (second: number, name: string, data: Record<string, unknown> = {}) => ({ seq: ++seq, ts: at(second), event: name, data, worker_id: 'w' }) as unknown as VortexEvent;

test('each registration begins a life, and its end says how', () => {
  const lives = livesOf([
    event(0, 'worker_registered', { incarnation: 1 }), event(1, 'task_started'),
    event(10, 'worker_crash', { evidence: 'exit' }), event(10, 'worker_offline', { tasks_requeued: 2 }),
    event(20, 'worker_registered', { incarnation: 2 }), event(30, 'worker_registered', { incarnation: 3 }),
    event(40, 'worker_exit', { evidence: 'goodbye' }), event(40, 'worker_inactive', { tasks_requeued: 0 }),
    event(60, 'worker_registered', { incarnation: 4 }),
  ]);
  expect(lives.map((life) => [life.incarnation, life.began && Date.parse(life.began) / 1000, life.ended && Date.parse(life.ended) / 1000, life.how, life.requeued])).toEqual([
    [1, 0, 10, 'exit', 2], [2, 20, 30, 'new_incarnation', 0], [3, 30, 40, 'goodbye', 0], [4, 60, null, '', 0],
  ]);
  expect(availability(lives, 80_000)).toBe(0.625);
});

test('a life that began before the kept events has no beginning', () => {
  const lives = livesOf([event(5, 'heartbeat_stale', { evidence: 'silence' }), event(5, 'worker_offline', { tasks_requeued: 1 })]);
  expect(lives).toEqual([{ incarnation: null, began: null, ended: at(5), how: 'silence', requeued: 1 }]);
  expect(availability(lives, 9_000)).toBe(null);
});
