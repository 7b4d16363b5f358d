// How many tasks ended in each of the last intervals, from the events that say so.
import type { VortexEvent } from '../api/client';

export const endKinds = ['task_complete', 'task_failed', 'task_timeout'];

export class Throughput {
  readonly stepMs: number;
  readonly steps: number;
  #counts = new Map<number, number>();

  constructor(stepMs = 10_000, steps = 60) {
    this.stepMs = stepMs;
    this.steps = steps;
  }

  add(event: VortexEvent) {
    if (!endKinds.includes(event.event)) return;
    const slot = Math.floor(Date.parse(event.ts) / this.stepMs);
    this.#counts.set(slot, (this.#counts.get(slot) ?? 0) + 1);
  }

  /** Oldest first, the last one being the interval that is not over. */
  series(now: number): number[] {
    const last = Math.floor(now / this.stepMs);
    for (const slot of this.#counts.keys()) if (slot <= last - this.steps) this.#counts.delete(slot);
    return Array.from({ length: this.steps }, (_, at) => this.#counts.get(last - this.steps + 1 + at) ?? 0);
  }

  /** Over the last whole minute. */
  perMinute(now: number): number {
    const last = Math.floor(now / this.stepMs);
    const slots = Math.round(60_000 / this.stepMs);
    let sum = 0;
    for (let at = 0; at < slots; at += 1) sum += this.#counts.get(last - at) ?? 0;
    return sum;
  }
}
