// The lives of a worker out of its events: from each registration to how that ended.
import type { VortexEvent } from '../api/client';

export interface Life {
  incarnation: number | null;
  began: string | null; // null: before the events that are kept
  ended: string | null; // null: it is present
  how: string; // the evidence; empty: it is present
  requeued: number; // tasks that were taken back from it
}

/** Oldest first, as the events. */
export function livesOf(events: VortexEvent[]): Life[] {
  const lives: Life[] = [];
  let evidence = '';
  const present = () => (lives.at(-1)?.ended === null ? lives.at(-1) : undefined);
  for (const event of events) {
    const data = (event.data ?? {}) as Record<string, unknown>;
    if (typeof data['evidence'] === 'string') evidence = data['evidence'];
    if (event.event === 'worker_registered') {
      const before = present();
      if (before) Object.assign(before, { ended: event.ts, how: 'new_incarnation' });
      lives.push({ incarnation: Number(data['incarnation']) || null, began: event.ts, ended: null, how: '', requeued: 0 });
      evidence = '';
    } else if (event.event === 'worker_offline' || event.event === 'worker_inactive') {
      let life = present();
      if (!life) lives.push((life = { incarnation: null, began: null, ended: null, how: '', requeued: 0 }));
      Object.assign(life, { ended: event.ts, how: evidence || (event.event === 'worker_inactive' ? 'goodbye' : 'unknown'), requeued: Number(data['tasks_requeued']) || 0 });
      evidence = '';
    }
  }
  return lives;
}

/** The share of the time since the first known registration in which it was present. */
export function availability(lives: Life[], now: number): number | null {
  const first = lives.find((life) => life.began)?.began;
  if (!first) return null;
  const span = now - Date.parse(first);
  if (span <= 0) return null;
  const up = lives.reduce((sum, life) => sum + (life.began ? (life.ended ? Date.parse(life.ended) : now) - Date.parse(life.began) : 0), 0);
  return Math.min(1, up / span);
}
