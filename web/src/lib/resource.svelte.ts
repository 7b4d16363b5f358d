// Something read from the API and kept true: read when what it depends on changes, read again after
// a lost connection, and, at most twice a second, when an event says that it changed.
import { untrack } from 'svelte';
import { Failure, type VortexEvent } from '../api/client';
import { live } from './live.svelte';

const paceMs = 500;

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  failure = $state.raw<Failure | null>(null);
  loading = $state(true);
  #load: () => Promise<T>;
  #turn = 0;
  #due: ReturnType<typeof setTimeout> | null = null;
  #busy = false;
  #again = false;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** Reads now. An answer that was overtaken by a later question is dropped. */
  reload = async (): Promise<void> => {
    const turn = ++this.#turn;
    this.#busy = true;
    this.#again = false;
    try {
      const data = await this.#load();
      if (turn !== this.#turn) return;
      this.data = data;
      this.failure = null;
    } catch (error) {
      if (turn !== this.#turn) return;
      this.failure = error instanceof Failure ? error : new Failure(0, { title: String(error) });
    }
    this.loading = false;
    this.#busy = false;
    if (this.#again) this.soon();
  };

  /** Reads in a moment, once for however many reasons. */
  soon = () => {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#due ??= setTimeout(() => {
      this.#due = null;
      void this.reload();
    }, paceMs);
  };

  forget() {
    this.data = undefined;
    this.failure = null;
    this.loading = true;
  }
  stop() {
    if (this.#due) clearTimeout(this.#due);
    this.#due = null;
    this.#turn += 1;
    this.#busy = false;
  }
}

interface Options {
  /** Which events mean that it may have changed. */
  when?: (event: VortexEvent) => boolean;
  /** What it is about, besides what `load` reads at once: another key forgets what is shown. */
  key?: () => unknown;
}

/** For the life of a component. `load` reads what it depends on before its first await. */
export function resource<T>(load: () => Promise<T>, options: Options = {}): Resource<T> {
  const made = new Resource(load);
  let shown: unknown = Symbol('nothing');
  $effect(() => {
    const key = options.key?.();
    untrack(() => {
      if (options.key && key !== shown) made.forget();
      shown = key;
    });
    void made.reload();
    return () => made.stop();
  });
  $effect(() => {
    const ends = [live.onResync(() => void made.reload())];
    const { when } = options;
    if (when) ends.push(live.onEvents((events) => events.some(when) && made.soon()));
    return () => ends.forEach((end) => end());
  });
  return made;
}
