import { expect, test } from 'vitest';
import type { Status, VortexEvent } from '../api/client';
import { concerns } from './attention';
import { ago, bytes, duration, shellWord } from './format';
import { quantiles } from './histogram';
import { paramsOf, valueOf } from './params';
import { Throughput } from './throughput';

const ended = (ts: string, event = 'task_complete') => ({ ts, event }) as VortexEvent;

test('throughput counts ends in their interval and forgets old ones', () => {
  const pace = new Throughput(10_000, 6);
  pace.add(ended('2026-01-01T00:00:01Z'));
  pace.add(ended('2026-01-01T00:00:09Z', 'task_failed'));
  pace.add(ended('2026-01-01T00:00:25Z'));
  pace.add(ended('2026-01-01T00:00:25Z', 'task_started'));
  const now = Date.parse('2026-01-01T00:00:29Z');
  expect(pace.series(now)).toEqual([0, 0, 0, 2, 0, 1]);
  expect(pace.perMinute(now)).toBe(3);
  expect(pace.perMinute(now + 45_000)).toBe(1);
});

test('quantiles of a histogram are summed over its labels', () => {
  const text = [
    'l_bucket{queue="a",le="1"} 5', 'l_bucket{queue="a",le="2"} 10', 'l_bucket{queue="a",le="+Inf"} 10',
    'l_bucket{queue="b",le="1"} 5', 'l_bucket{queue="b",le="2"} 10', 'l_bucket{queue="b",le="+Inf"} 10',
    'other_bucket{le="1"} 99',
  ].join('\n');
  expect(quantiles(text, 'l', [0.5, 0.75])).toEqual({ count: 20, values: [1, 1.5] });
  expect(quantiles('', 'l', [0.5])).toEqual({ count: 0, values: [0] });
});

test('durations and sizes read as people say them', () => {
  expect([0, 999, 1500, 61_000, 3_660_000, 180_000_000].map(duration)).toEqual(['0 ms', '999 ms', '1.5 s', '1 min 1 s', '1 h 1 min', '2 d 2 h']);
  expect(bytes(1536)).toBe('1.5 KiB');
  expect(ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:30Z'))).toBe('30 s ago');
  expect(ago(null, 0)).toBe('never');
});

test('what is copied as a command is one word to a shell', () => {
  expect(shellWord('w-1')).toBe('w-1');
  expect(shellWord(`a b'; rm -rf $HOME`)).toBe(`'a b'\\''; rm -rf $HOME'`);
});

test('params become fields, and fields become values of their type', () => {
  const [size, rows] = paramsOf({ params: { size: { type: 'string' }, rows: { type: 'number', default: 7 } } });
  expect(size).toMatchObject({ name: 'size', required: true, text: '' });
  expect(rows).toMatchObject({ required: false, text: '7' });
  expect(valueOf(rows!, '12')).toBe(12);
  expect(() => valueOf(rows!, 'many')).toThrow('rows must be a number');
  expect(valueOf(size!, '12')).toBe('12');
});

test('what does not move is named with its obstacles, workers and what to do', () => {
  const status = {
    leader: true, brake_engaged: false, workers_active: 2, workers_registering: 0, workers: {}, dead_letters: 0, queues: [],
    certificate_expires_at: null,
    standstills: [{
      tasks: 2, example: 'r1-L0-1', workers_unnamed: 5,
      obstacles: [{ reason: 'no_such_worker', permanent: true, what: 'no worker has the label gpu=a100', action: 'vortex worker --label gpu=a100' }],
      workers: [{ worker: 'w1', why: 'lacks the label gpu=a100' }],
    }],
  } as unknown as Status;
  expect(concerns(status, [], [], 0)).toEqual([{
    tone: 'bad',
    text: '2 tasks wait: no worker has the label gpu=a100',
    detail: 'w1 lacks the label gpu=a100; 5 more · try: vortex worker --label gpu=a100',
    link: '/tasks/r1-L0-1',
  }]);
});
