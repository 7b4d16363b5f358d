import { expect, test } from 'vitest';
import type { Attempt, Task } from '../api/client';
import { barsOf, criticalPath, readyTimes, ticks, timeOnPath } from './bars';
import { compareRuns } from './compare';
import { gridRows } from './grid';
import { shapeOf } from './shape';

const at = (second: number) => new Date(second * 1000).toISOString();
const task = (more: Partial<Task>) => ({ id: 't', node: 'n', state: 'Completed', created_at: at(0), updated_at: at(9), index: 0, ...more }) as Task;
const attempt = (more: Partial<Attempt>) => ({ task: 't', number: 1, worker: 'w', verdict: 'completed', ...more }) as Attempt;

test('waiting is a bar of its own before each attempt, and a lost attempt is no failure', () => {
  const bars = barsOf(task({}), [
    attempt({ granted_at: at(1), started_at: at(2), ended_at: at(4), verdict: 'worker_lost' }),
    attempt({ number: 2, granted_at: at(6), started_at: at(6), ended_at: at(9) }),
  ], { now: 9_000 });
  expect(bars.map((bar) => [bar.kind, bar.from / 1000, bar.to / 1000, bar.tone])).toEqual([
    ['queued', 0, 1, 'wait'], ['assigned', 1, 2, 'quiet'], ['ran', 2, 4, 'warn'],
    ['queued', 4, 6, 'wait'], ['ran', 6, 9, 'good'],
  ]);
});

test('an attempt that goes on ends now', () => {
  const bars = barsOf(task({ state: 'Running' }), [attempt({ granted_at: at(1), started_at: at(1), ended_at: null, verdict: null })], { now: 5_000 });
  expect(bars.at(-1)).toMatchObject({ kind: 'ran', from: 1_000, to: 5_000, tone: 'busy' });
});

test('the critical path goes back through whoever ended last', () => {
  const needs = new Map([['a', []], ['b', []], ['c', ['a', 'b']]]);
  const tasks = [task({ id: 'a', node: 'a', updated_at: at(3) }), task({ id: 'b', node: 'b', updated_at: at(7) }), task({ id: 'c', node: 'c', updated_at: at(9) })];
  expect([...criticalPath(tasks, needs)]).toEqual(['c', 'b']);
});

test('there are few ticks, and they are round', () => {
  expect(ticks({ from: 0, to: 60_000 })).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
  expect(ticks({ from: 0, to: 40 * 86_400_000 }).length).toBeLessThan(9);
});

test('a map is one node with the number of its items', () => {
  const shape = shapeOf({ tasks: { list: {}, each: { needs: ['list'], map: { over: [1, 2, 3] } } } });
  expect(shape.needs.get('each')).toEqual(['list']);
  expect(shape.sizes.get('each')).toBe(3);
  const ranges = shapeOf({ tasks: { up: { map: { over: { range: { from: 1, to: 100_000 } } } }, down: { map: { over: { range: { from: 9, to: 0, step: -3 } } } } } });
  expect([...ranges.sizes.values()]).toEqual([100_000, 4]);
});

test('waiting for other tasks is not waiting for a worker', () => {
  const tasks = [task({ id: 'a', node: 'a', updated_at: at(4) }), task({ id: 'b', node: 'b' })];
  const ready = readyTimes(tasks, new Map([['a', []], ['b', ['a']]])).get('b');
  const bars = barsOf(tasks[1]!, [attempt({ granted_at: at(6), started_at: at(6), ended_at: at(8) })], { now: 9_000, ready });
  expect(bars[0]).toMatchObject({ kind: 'queued', from: 4_000, to: 6_000 });
});

test('the time on the critical path is what its tasks ran, without their waiting', () => {
  const tasks = [task({ id: 'a', started_at: at(1), updated_at: at(3) }), task({ id: 'b', started_at: at(4), updated_at: at(9) }), task({ id: 'c', started_at: at(0), updated_at: at(9) })];
  expect(timeOnPath(tasks, new Set(['a', 'b']))).toBe(7_000);
});

test('a grid breaks the items of a map into lines, and shows the attempts of a task that had several', () => {
  const tasks = [...Array.from({ length: 5 }, (_, n) => task({ id: `m${n}`, node: 'each' })), task({ id: 'one', node: 'one' }), task({ id: 'again', node: 'again', attempts: 2 })];
  const tries = new Map([['again', [attempt({ task: 'again' }), attempt({ task: 'again', number: 2 })]]]);
  const rows = gridRows(tasks, tries, 3);
  expect(rows.map((row) => [row.node, row.first, row.tasks.length, row.attempts?.length ?? 0])).toEqual([
    ['each', true, 3, 0], ['each', false, 2, 0], ['one', true, 1, 0], ['again', true, 0, 2],
  ]);
});

test('runs are compared node by node, what got slower first, what is only in one before that', () => {
  const before = [task({ id: 'a', node: 'a', started_at: at(0), updated_at: at(2) }), task({ id: 'b', node: 'b', started_at: at(2), updated_at: at(8) })];
  const now = [task({ id: 'a', node: 'a', started_at: at(0), updated_at: at(5) }), task({ id: 'b', node: 'b', state: 'Failed', started_at: at(5), updated_at: at(9) }), task({ id: 'c', node: 'c', state: 'Skipped' })];
  const rows = compareRuns(now, before);
  expect(rows.map((row) => [row.node, row.change])).toEqual([['c', null], ['a', 3_000], ['b', -2_000]]);
  expect(rows[2]?.now?.states).toEqual({ Failed: 1 });
  expect(rows[0]?.before).toBe(null);
});
