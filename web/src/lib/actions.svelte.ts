// What a person does: asked for confirmation with what it will do, done, and its outcome said. Each
// act can be copied as the command that does the same.
import { Failure } from '../api/client';

export interface Act {
  title: string;
  /** What will happen, in one sentence. */
  text: string;
  verb: string;
  danger?: boolean;
  command?: string | ((said: string) => string);
  /** What the person may add, or has to. */
  ask?: Ask;
  /** Does it, and gives back what to say about it. */
  run: (said: string) => Promise<string>;
}

export interface Ask {
  label: string;
  required?: boolean;
  /** What is wrong with it; empty: nothing. */
  check?: (said: string) => string;
}

export interface Note {
  id: number;
  text: string;
  hint: string;
  bad: boolean;
}

class Acts {
  asked = $state.raw<Act | null>(null);
  notes = $state.raw<Note[]>([]);
  busy = $state(false);
  said = $state('');
  #next = 1;

  ask(act: Act) {
    this.said = '';
    this.asked = act;
  }
  /** Why it cannot be done as it stands; empty: it can. */
  get trouble(): string {
    const ask = this.asked?.ask;
    if (ask?.required && this.said.trim() === '') return 'required';
    return this.said === '' ? '' : (ask?.check?.(this.said) ?? '');
  }
  get command(): string {
    const command = this.asked?.command ?? '';
    return typeof command === 'string' ? command : command(this.said);
  }
  cancel() {
    if (!this.busy) this.asked = null;
  }

  async confirm() {
    const act = this.asked;
    if (!act || this.busy || this.trouble) return;
    this.busy = true;
    try {
      this.say(await act.run(this.said));
    } catch (error) {
      const failure = error instanceof Failure ? error : null;
      this.say(failure?.message ?? String(error), failure?.hint ?? '', true);
    } finally {
      this.busy = false;
      this.asked = null;
    }
  }

  say(text: string, hint = '', bad = false) {
    const note = { id: this.#next++, text, hint, bad };
    this.notes = [...this.notes.slice(-3), note];
    setTimeout(() => this.dismiss(note.id), bad ? 15_000 : 6_000);
  }
  dismiss(id: number) {
    this.notes = this.notes.filter((note) => note.id !== id);
  }
}
export const acts = new Acts();

export async function copyText(text: string, what: string) {
  try {
    await navigator.clipboard.writeText(text);
    acts.say(`Copied ${what}`);
  } catch {
    acts.say(text, 'The browser does not allow copying here; select it instead', true);
  }
}
