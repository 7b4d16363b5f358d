// What a person does: asked for confirmation with what it will do, done, and its outcome said. Each
// act can be copied as the command that does the same.
import { Failure } from '../api/client';

export interface Act {
  title: string;
  /** What will happen, in one sentence. */
  text: string;
  verb: string;
  danger?: boolean;
  command?: string;
  /** Does it, and gives back what to say about it. */
  run: () => Promise<string>;
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
  #next = 1;

  ask(act: Act) {
    this.asked = act;
  }
  cancel() {
    if (!this.busy) this.asked = null;
  }

  async confirm() {
    const act = this.asked;
    if (!act || this.busy) return;
    this.busy = true;
    try {
      this.say(await act.run());
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
