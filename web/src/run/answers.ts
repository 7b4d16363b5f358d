// What a person tells a run: answers to its questions and signals, with the commands that do the same.
import { api, got, type Approval } from '../api/client';
import type { Act } from '../lib/actions.svelte';
import { shellWord } from '../lib/format';
import { login } from '../lib/session.svelte';

type Role = 'viewer' | 'submitter' | 'operator' | 'worker' | 'admin';

/** Whether this person's role is one of those that the question is for; admins always may. */
export function mayAnswer(approval: Approval): boolean {
  if (!login.known?.required) return true;
  const role = login.known.role as Role;
  return role === 'admin' || approval.by.includes(role);
}

const path = (approval: Approval) => ({ params: { path: { task: approval.task } } });

export function approve(approval: Approval): Act {
  return {
    title: approval.question,
    text: `Approving lets run ${approval.run} of ${approval.dag} go on. The first answer holds.`,
    verb: 'Approve',
    ask: { label: 'Comment for the record (optional)' },
    command: (said) => `vortex runs approve ${approval.task}${said ? ` --comment ${shellWord(said)}` : ''}`,
    run: async (said) => {
      await got(api.POST('/api/tasks/{task}/approve', { ...path(approval), body: said ? { comment: said } : {} }));
      return `Approved ${approval.node} of ${approval.run}`;
    },
  };
}

export function reject(approval: Approval): Act {
  return {
    title: approval.question,
    text: `Rejecting fails the task ${approval.node} of ${approval.run}. The first answer holds.`,
    verb: 'Reject',
    danger: true,
    ask: { label: 'Why', required: true },
    command: (said) => `vortex runs reject ${approval.task} --reason ${shellWord(said || 'REASON')}`,
    run: async (said) => {
      await got(api.POST('/api/tasks/{task}/reject', { ...path(approval), body: { reason: said } }));
      return `Rejected ${approval.node} of ${approval.run}`;
    },
  };
}

/** Why this is no payload of a signal; empty: it is one. */
export function payloadTrouble(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? '' : 'The data is a JSON object, like {"version": "1.2"}';
  } catch {
    return 'This is not valid JSON';
  }
}

export function sendSignal(run: string, name: string): Act {
  const key = crypto.randomUUID?.() ?? String(Math.random());
  return {
    title: `Send signal ${name} to ${run}?`,
    text: 'The task that waits for it takes it, now or when its turn comes.',
    verb: 'Send',
    ask: { label: 'Data as a JSON object (optional): becomes the outputs of the task', check: payloadTrouble },
    command: (said) => `vortex runs signal ${run} ${shellWord(name)}${said ? ` --data ${shellWord(said)}` : ''}`,
    run: async (said) => {
      await got(api.POST('/api/runs/{run}/signals/{name}', {
        params: { path: { run, name }, header: { 'Idempotency-Key': key } },
        body: said ? { data: JSON.parse(said) as Record<string, unknown> } : {},
      }));
      return `Signal ${name} sent to ${run}`;
    },
  };
}
