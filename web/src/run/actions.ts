// What can be done to a run or a task, with the commands that do the same.
import { api, Failure, got, type Run, type Task } from '../api/client';
import type { Act } from '../lib/actions.svelte';
import { counted } from '../lib/format';
import { go } from '../lib/router.svelte';

export function cancelRun(run: Run): Act {
  const open = run.tasks - (run.counts['Completed'] ?? 0) - (run.counts['Failed'] ?? 0) - (run.counts['Skipped'] ?? 0) - (run.counts['Cancelled'] ?? 0);
  return {
    title: `Cancel run ${run.id}?`,
    text: `Its ${counted(run.counts['Running'] ?? 0, 'running task')} will be stopped and no more will start; ${counted(open, 'task')} have not ended. This cannot be undone.`,
    verb: 'Cancel the run',
    danger: true,
    command: `vortex runs cancel ${run.id}`,
    run: async () => {
      await got(api.POST('/api/runs/{run}/cancel', { params: { path: { run: run.id } } }));
      return `Cancelling run ${run.id}`;
    },
  };
}

export function pauseRun(run: Run): Act {
  const verb = run.paused ? 'resume' : 'pause';
  return {
    title: run.paused ? `Resume run ${run.id}?` : `Pause run ${run.id}?`,
    text: run.paused ? 'Its tasks will start again.' : 'Running tasks continue; no more will start until it is resumed.',
    verb: run.paused ? 'Resume' : 'Pause',
    command: `vortex runs ${verb} ${run.id}`,
    run: async () => {
      await got(api.POST(run.paused ? '/api/runs/{run}/resume' : '/api/runs/{run}/pause', { params: { path: { run: run.id } } }));
      return `Run ${run.id} ${run.paused ? 'resumed' : 'paused'}`;
    },
  };
}

export function retryRun(run: Run): Act {
  const failed = run.counts['Failed'] ?? 0;
  return {
    title: `Retry ${counted(failed, 'failed task')} of ${run.id}?`,
    text: 'They will be queued again, and the tasks that were skipped because of them.',
    verb: 'Retry',
    command: `vortex runs retry ${run.id}`,
    run: async () => {
      let done = 0;
      let cursor: string | undefined;
      const ids: string[] = [];
      do {
        const page = await got(api.GET('/api/runs/{run}/tasks', { params: { path: { run: run.id }, query: { state: 'Failed', limit: 1000, cursor } } }));
        ids.push(...page.tasks.map((task) => task.id));
        cursor = page.next_cursor ?? undefined;
      } while (cursor);
      // What is confirmed is what was counted.
      if (ids.length !== failed) {
        throw new Failure(409, { title: `There are ${counted(ids.length, 'failed task')} now, not ${failed}`, hint: 'Nothing was done; look at the run again' });
      }
      for (const task of ids) {
        await got(api.POST('/api/tasks/{task}/retry', { params: { path: { task } } }));
        done += 1;
      }
      return `Retrying ${counted(done, 'failed task')} of run ${run.id}`;
    },
  };
}

export function rerun(run: Run): Act {
  return {
    title: `Run ${run.dag} again?`,
    text: `Starts a new run with the DAG, params and labels of ${run.id}.`,
    verb: 'Start it',
    command: `vortex runs rerun ${run.id}`,
    run: async () => {
      const dag = await got(api.GET('/api/runs/{run}/dag', { params: { path: { run: run.id } } }));
      const made = await got(api.POST('/api/runs', {
        body: { dag: dag.spec, params: run.params, labels: run.labels },
        params: { header: { 'Idempotency-Key': crypto.randomUUID?.() ?? String(Math.random()) } },
      }));
      go(`/runs/${made.id}`);
      return `Started ${made.id} as a rerun of ${run.id}`;
    },
  };
}

export function retryTask(task: Task): Act {
  return {
    title: `Retry ${task.node}?`,
    text: `${task.id} will be queued again, and the tasks that were skipped because of it.`,
    verb: 'Retry',
    command: `vortex tasks retry ${task.id}`,
    run: async () => {
      await got(api.POST('/api/tasks/{task}/retry', { params: { path: { task: task.id } } }));
      return `Retrying ${task.id}`;
    },
  };
}

export function cancelTask(task: Task): Act {
  return {
    title: `Cancel ${task.node}?`,
    text: `${task.id} will be stopped; tasks that need it are skipped.`,
    verb: 'Cancel the task',
    danger: true,
    command: `vortex tasks cancel ${task.id}`,
    run: async () => {
      await got(api.POST('/api/tasks/{task}/cancel', { params: { path: { task: task.id } } }));
      return `Cancelling ${task.id}`;
    },
  };
}
