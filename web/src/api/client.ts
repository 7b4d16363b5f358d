// The API, typed by the OpenAPI document of the controller. Every failed call throws a Failure with
// the words of the controller.
import createClient from 'openapi-fetch';
import type { components, paths } from './schema';

type Schemas = components['schemas'];
export type Run = Schemas['Run'];
export type Task = Schemas['Task'];
export type TaskDetail = Schemas['TaskDetail'];
export type Attempt = Schemas['Attempt'];
export type Worker = Schemas['Worker'];
export type Status = Schemas['Status'];
export type VortexEvent = Schemas['Event'];
export type Explanation = Schemas['Explanation'];
export type Recovery = Schemas['Recovery'];
export type RecoveryItem = Schemas['RecoveryItem'];
export type DeadLetter = Schemas['DeadLetter'];
export type Problem = Schemas['Problem'];
export type Session = Schemas['Session'];
export type Queue = Schemas['Queue'];
export type Schedule = Schemas['Schedule'];
export type Approval = Schemas['Approval'];
export type Limit = Schemas['Limit'];
export type Standstill = Schemas['Standstill'];

export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail || problem.title || `The controller answered ${status}`);
  }
  get hint(): string {
    return this.problem.hint ?? '';
  }
}

export const api = createClient<paths>({
  baseUrl: '/',
  credentials: 'same-origin',
  // With it the controller accepts changes from a session: no form and no foreign page can send it.
  headers: { 'Vortex-Page': '1' },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

let onUnauthorized = () => {};
export function whenUnauthorized(act: () => void) {
  onUnauthorized = act;
}

/** What was answered, or a Failure. */
export async function got<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new Failure(0, { title: 'The controller does not answer', hint: 'Reconnecting by itself' });
  }
  if (answer.error !== undefined || !answer.response.ok) {
    if (answer.response.status === 401) onUnauthorized();
    throw new Failure(answer.response.status, (answer.error ?? {}) as Partial<Problem>);
  }
  return answer.data as T;
}

export type EventPage = Schemas['EventPage'];
interface EventQuery {
  after?: number;
  kind?: string;
  worker?: string;
  limit?: number;
}

// The same address is a stream, too, which the page reads by itself (lib/live).
export async function readEvents(query: EventQuery): Promise<EventPage> {
  return (await got(api.GET('/api/events', { params: { query } }))) as EventPage;
}
export async function readRunEvents(run: string, query: EventQuery): Promise<VortexEvent[]> {
  return ((await got(api.GET('/api/runs/{run}/events', { params: { path: { run }, query } }))) as EventPage).events;
}

/** Those among the newest `window` events that match. */
export async function newestEvents(window: number, query: EventQuery = {}): Promise<VortexEvent[]> {
  const { last_seq } = await readEvents({ limit: 1 });
  return (await readEvents({ ...query, after: Math.max(0, last_seq - window), limit: 10_000 })).events;
}
