// What a person should look at now, worst first, each with where to look.
import type { Approval, Queue, Standstill, Status, Worker } from '../api/client';
import { counted, duration } from './format';
import type { Tone } from './states';

export interface Concern {
  tone: Tone;
  text: string;
  detail: string;
  link: string;
}

// Tasks that no worker will run until somebody acts: what is in the way, who says what, what to do.
function aboutStandstill(standstill: Standstill): Concern {
  const what = standstill.obstacles.map((obstacle) => obstacle.what).join('; also, ');
  const actions = standstill.obstacles.map((obstacle) => obstacle.action).filter((action) => action !== '');
  const workers = standstill.workers.slice(0, 3).map((one) => `${one.worker} ${one.why}`);
  const unnamed = standstill.workers.length - workers.length + standstill.workers_unnamed;
  if (unnamed > 0) workers.push(`${unnamed} more`);
  const detail = [workers.join('; '), actions.length > 0 ? `try: ${actions.join(', ')}` : ''].filter((part) => part !== '').join(' · ');
  return {
    tone: 'bad',
    text: `${counted(standstill.tasks, 'task')} ${standstill.tasks === 1 ? 'waits' : 'wait'}: ${what}`,
    detail,
    link: `/tasks/${encodeURIComponent(standstill.example)}`,
  };
}

function aboutQueue(queue: Queue, now: number): Concern[] {
  const waiting = queue.oldest_ready ? now - Date.parse(queue.oldest_ready) : 0;
  const link = '/queues';
  if (queue.ready > 0 && queue.held === 0 && waiting > 2_000) {
    return [{ tone: 'warn', text: `Nothing starts in queue ${queue.name}`, detail: `${counted(queue.ready, 'task')} ready, the oldest for ${duration(waiting)}`, link }];
  }
  return [];
}

function aboutWorker(worker: Worker): Concern[] {
  const link = `/workers/${encodeURIComponent(worker.id)}`;
  if (worker.flapping) {
    return [{ tone: 'warn', text: `Worker ${worker.id} keeps getting lost`, detail: `${worker.lost_lately} times lately`, link }];
  }
  if (worker.blame !== 'none') {
    return [{ tone: 'warn', text: `Worker ${worker.id} is ${worker.blame === 'cordoned' ? 'cordoned' : 'on probation'}`, detail: 'tasks died abnormally on it', link }];
  }
  if (worker.suspect) {
    return [{ tone: 'warn', text: `Worker ${worker.id} may be gone`, detail: 'it gets no new tasks', link }];
  }
  return [];
}

function aboutApprovals(approvals: Approval[]): Concern[] {
  const [first, ...others] = approvals;
  if (!first) return [];
  const more = others.length > 0 ? `, and ${counted(others.length, 'more question')}` : '';
  return [{ tone: 'warn', text: `${first.run} asks: ${first.question}`, detail: `task ${first.node} of ${first.dag} waits for an answer${more}`, link: '/approvals' }];
}

export function concerns(status: Status, workers: Worker[], approvals: Approval[], now: number): Concern[] {
  const found: Concern[] = aboutApprovals(approvals);
  if (!status.leader) {
    found.push({ tone: 'warn', text: 'This controller is not the leader', detail: 'queues are shown by the leader', link: '/settings' });
  }
  if (status.brake_engaged) {
    found.push({ tone: 'bad', text: 'The brake is engaged', detail: 'too many workers fell silent at once; their tasks are not reclaimed because of silence', link: '/recoveries' });
  }
  const present = status.workers_active + status.workers_registering + (status.workers['DRAINING'] ?? 0);
  if (present === 0) {
    found.push({ tone: 'bad', text: 'There are no workers', detail: 'start one with `vortex worker`', link: '/workers' });
  }
  if (status.dead_letters > 0) {
    found.push({ tone: 'bad', text: counted(status.dead_letters, 'open dead letter'), detail: 'tasks that were given up; re-drive or discard them', link: '/dead-letters?state=open' });
  }
  found.push(...status.standstills.map(aboutStandstill));
  if (status.standstills.length === 0) {
    for (const queue of status.queues) found.push(...aboutQueue(queue, now));
  }
  const lost = workers.filter((worker) => worker.state === 'OFFLINE');
  if (lost.length > 0) {
    found.push({
      tone: 'warn',
      text: `${counted(lost.length, 'worker')} offline`,
      detail: lost.slice(0, 4).map((worker) => worker.id).join(', ') + (lost.length > 4 ? ' …' : ''),
      link: '/workers?state=OFFLINE',
    });
  }
  for (const worker of workers) if (worker.state !== 'INACTIVE') found.push(...aboutWorker(worker));
  const expires = status.certificate_expires_at ? Date.parse(status.certificate_expires_at) - now : Infinity;
  if (expires < 14 * 86_400_000) {
    found.push({ tone: 'warn', text: 'The TLS certificate expires soon', detail: `in ${duration(expires)}`, link: '/settings' });
  }
  const rank = (concern: Concern) => (concern.tone === 'bad' ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b));
}
