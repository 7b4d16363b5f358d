// A list that is read page by page for as long as somebody scrolls, and anew when events say so.
import { untrack } from 'svelte';
import { Failure, type VortexEvent } from '../api/client';
import { live } from './live.svelte';

export interface PageOf<T> {
  items: T[];
  next: string | null;
}

export class Listing<T> {
  items = $state.raw<T[]>([]);
  next = $state<string | null>(null);
  failure = $state.raw<Failure | null>(null);
  reading = $state(true);
  #load: (cursor?: string) => Promise<PageOf<T>>;
  #turn = 0;
  #due: ReturnType<typeof setTimeout> | null = null;

  constructor(load: (cursor?: string) => Promise<PageOf<T>>) {
    this.#load = load;
  }

  read = async (cursor?: string) => {
    const turn = ++this.#turn;
    this.reading = true;
    try {
      const page = await this.#load(cursor);
      if (turn !== this.#turn) return;
      this.items = cursor ? [...this.items, ...page.items] : page.items;
      this.next = page.next;
      this.failure = null;
    } catch (error) {
      if (turn !== this.#turn) return;
      this.failure = error instanceof Failure ? error : new Failure(0, { title: String(error) });
    }
    this.reading = false;
  };
  more = () => {
    if (this.next && !this.reading) void this.read(this.next);
  };
  soon = () => {
    this.#due ??= setTimeout(() => {
      this.#due = null;
      void this.read();
    }, 500);
  };
}

/** For the life of a component. `load` reads what it depends on before its first await. */
export function listing<T>(load: (cursor?: string) => Promise<PageOf<T>>, when?: (event: VortexEvent) => boolean, depends?: () => unknown): Listing<T> {
  const made = new Listing(load);
  $effect(() => {
    depends?.();
    untrack(() => void made.read());
  });
  $effect(() => {
    const ends = [live.onResync(() => void made.read())];
    if (when) ends.push(live.onEvents((events) => events.some(when) && made.soon()));
    return () => ends.forEach((end) => end());
  });
  return made;
}
