// What can be done to a worker, with the commands that do the same.
import { api, got, type Worker } from '../api/client';
import type { Act } from '../lib/actions.svelte';
import { counted, shellWord } from '../lib/format';
import { go } from '../lib/router.svelte';

export function isPresent(worker: Worker): boolean {
  return worker.state !== 'OFFLINE' && worker.state !== 'INACTIVE';
}

export function workerActs(worker: Worker): { label: string; act: Act }[] {
  const params = { params: { path: { worker: worker.id } } };
  const command = (verb: string) => `vortex workers ${verb} ${shellWord(worker.id)}`;
  const holds = counted(worker.held, 'task');
  const cordon: Act = {
    title: `Cordon ${worker.id}?`,
    text: 'It gets no new tasks until it is uncordoned; what it holds continues.',
    verb: 'Cordon',
    command: command('cordon'),
    run: async () => (await got(api.POST('/api/workers/{worker}/cordon', params)), `Worker ${worker.id} cordoned`),
  };
  const uncordon: Act = {
    title: `Uncordon ${worker.id}?`,
    text: 'It gets new tasks again.',
    verb: 'Uncordon',
    command: command('uncordon'),
    run: async () => (await got(api.POST('/api/workers/{worker}/uncordon', params)), `Worker ${worker.id} uncordoned`),
  };
  const drain: Act = {
    title: `Drain ${worker.id}?`,
    text: `It takes no new tasks, finishes the ${holds} it holds, and leaves. Those that take too long run elsewhere.`,
    verb: 'Drain',
    danger: true,
    command: command('drain'),
    run: async () => (await got(api.POST('/api/workers/{worker}/drain', { ...params, body: {} })), `Draining worker ${worker.id}`),
  };
  const reset: Act = {
    title: `Declare ${worker.id} dead?`,
    text: `The ${holds} it holds move to other workers immediately. If the process still runs, it stops its tasks and registers again.`,
    verb: 'Declare it dead',
    danger: true,
    command: command('reset'),
    run: async () => (await got(api.POST('/api/workers/{worker}/reset-state', params)), `Worker ${worker.id} was declared dead`),
  };
  const forget: Act = {
    title: `Delete ${worker.id}?`,
    text: 'It is gone; its entry and its record of losses are removed. It can register again.',
    verb: 'Delete',
    danger: true,
    command: command('delete'),
    run: async () => {
      await got(api.DELETE('/api/workers/{worker}', params));
      go('/workers');
      return `Worker ${worker.id} deleted`;
    },
  };
  if (!isPresent(worker)) return [{ label: 'Delete', act: forget }];
  return [
    worker.cordoned ? { label: 'Uncordon', act: uncordon } : { label: 'Cordon', act: cordon },
    ...(worker.state === 'DRAINING' ? [] : [{ label: 'Drain', act: drain }]),
    { label: 'Reset', act: reset },
  ];
}

/** The share of attempts on it that completed, and how often it was lost, in words. */
export function reliability(worker: Worker): string {
  const share = worker.ended > 0 ? `${((worker.completed / worker.ended) * 100).toFixed(worker.completed === worker.ended ? 0 : 1)} %` : '–';
  return share;
}
