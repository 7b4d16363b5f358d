// The keyboard: `?` shows what there is, `g` and a letter goes to a page, `/` searches, and a page
// adds its own. Nothing happens while somebody types into a field.
import { untrack } from 'svelte';
import { go } from './router.svelte';

export interface Key {
  keys: string;
  what: string;
  act: () => void;
}

export const destinations: { keys: string; name: string; address: string }[] = [
  { keys: 'g o', name: 'Overview', address: '/' },
  { keys: 'g r', name: 'Runs', address: '/runs' },
  { keys: 'g d', name: 'DAGs', address: '/dags' },
  { keys: 'g k', name: 'Schedules', address: '/schedules' },
  { keys: 'g x', name: 'Dead letters', address: '/dead-letters' },
  { keys: 'g w', name: 'Workers', address: '/workers' },
  { keys: 'g m', name: 'Machines', address: '/machines' },
  { keys: 'g q', name: 'Queues', address: '/queues' },
  { keys: 'g l', name: 'Leases', address: '/leases' },
  { keys: 'g c', name: 'Recoveries', address: '/recoveries' },
  { keys: 'g e', name: 'Events', address: '/events' },
  { keys: 'g h', name: 'Webhooks', address: '/webhooks' },
  { keys: 'g t', name: 'Tokens', address: '/tokens' },
  { keys: 'g s', name: 'Settings', address: '/settings' },
];

class Keyboard {
  helpShown = $state(false);
  ofPage = $state.raw<Key[]>([]);
  #pending = '';
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Keys of the page that is shown; give back what takes them away. */
  add(keys: Key[]): () => void {
    this.ofPage = [...untrack(() => this.ofPage), ...keys];
    return () => (this.ofPage = this.ofPage.filter((key) => !keys.includes(key)));
  }

  start() {
    document.addEventListener('keydown', (event) => this.#press(event));
  }

  #press(event: KeyboardEvent) {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    if (target.closest('input, textarea, select, [contenteditable], dialog')) return;
    if (event.key === '?') {
      this.helpShown = true;
      event.preventDefault();
      return;
    }
    if (event.key === '/') {
      const search = document.querySelector<HTMLInputElement>('[data-search]');
      if (search) {
        search.focus();
        event.preventDefault();
      }
      return;
    }
    const pressed = this.#pending ? `${this.#pending} ${event.key}` : event.key;
    this.#pending = '';
    if (this.#timer) clearTimeout(this.#timer);
    if (pressed === 'g') {
      this.#pending = 'g';
      this.#timer = setTimeout(() => (this.#pending = ''), 1200);
      return;
    }
    const destination = destinations.find((one) => one.keys === pressed);
    const own = this.ofPage.find((one) => one.keys === pressed);
    if (destination) go(destination.address);
    else if (own) own.act();
    else return;
    event.preventDefault();
  }
}
export const keyboard = new Keyboard();
