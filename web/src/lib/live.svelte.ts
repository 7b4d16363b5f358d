// One stream of events for the whole page. It says how fresh the page is, hands events out in
// batches, and after every (re)connection asks whoever shows something to read it again.
import type { VortexEvent } from '../api/client';
import { readSession } from './session.svelte';

export type Freshness = 'connecting' | 'live' | 'reconnecting' | 'stale';

const silenceMaxMs = 40_000; // the controller sends a comment every 15 s
const backoffMaxMs = 5_000;
const batchMs = 60;

type OnEvents = (events: VortexEvent[]) => void;
type OnResync = () => void;

class Live {
  state = $state<Freshness>('connecting');
  since = $state(Date.now());
  lastSeq = 0;
  #subscribers = new Set<OnEvents>();
  #resyncs = new Set<OnResync>();
  #batch: VortexEvent[] = [];
  #stopped = true;
  #abort: AbortController | null = null;

  onEvents(act: OnEvents): () => void {
    this.#subscribers.add(act);
    return () => this.#subscribers.delete(act);
  }
  onResync(act: OnResync): () => void {
    this.#resyncs.add(act);
    return () => this.#resyncs.delete(act);
  }

  start() {
    if (!this.#stopped) return;
    this.#stopped = false;
    void this.#run();
  }
  stop() {
    this.#stopped = true;
    this.#abort?.abort();
  }

  #set(state: Freshness) {
    if (this.state === state) return;
    this.state = state;
    this.since = Date.now();
  }

  async #run() {
    let wait = 250;
    while (!this.#stopped) {
      const began = Date.now();
      await this.#stream().catch(() => {});
      if (this.#stopped) return;
      this.#set(Date.now() - this.since > 30_000 && this.state !== 'live' ? 'stale' : 'reconnecting');
      if (Date.now() - began > 10_000) wait = 250;
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(wait * 1.8, backoffMaxMs);
    }
  }

  async #stream() {
    const abort = new AbortController();
    this.#abort = abort;
    const after = this.lastSeq ? `&after=${this.lastSeq}` : '';
    let timer = setTimeout(() => abort.abort(), 10_000);
    try {
      const answer = await fetch(`/api/events?follow=true${after}`, {
        headers: { Accept: 'text/event-stream' },
        signal: abort.signal,
      });
      if (answer.status === 401) await readSession().catch(() => {});
      if (!answer.ok || !answer.body) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      let first = true;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), silenceMaxMs);
        if (first) {
          first = false;
          this.#set('live');
          for (const act of this.#resyncs) act();
        }
        rest = this.#take(rest + value);
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  /** Takes whole messages from the text and gives back what is left. */
  #take(text: string): string {
    const messages = text.split('\n\n');
    const rest = messages.pop() ?? '';
    for (const message of messages) {
      const data = message
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n');
      if (!data) continue;
      const event = JSON.parse(data) as VortexEvent;
      if (event.seq <= this.lastSeq) continue;
      this.lastSeq = event.seq;
      if (this.#batch.push(event) === 1) setTimeout(() => this.#flush(), batchMs);
    }
    return rest;
  }

  #flush() {
    const events = this.#batch;
    this.#batch = [];
    for (const act of this.#subscribers) act(events);
  }
}
export const live = new Live();

/** The time, a second at a time, for ages on the page; a faster one would only cost. */
class Now {
  value = $state(Date.now());
  constructor() {
    setInterval(() => (this.value = Date.now()), 1000);
  }
}
export const now = new Now();
