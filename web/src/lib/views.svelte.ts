// Views of a list under a name, kept in this browser. A view is the query of an address, so the
// address stays what says what is shown.

export interface View {
  name: string;
  query: string; // without the question mark
}

const place = 'vortex.views';
export const viewsMax = 30;

/** What is stored, as far as it can be understood: others may have written there. */
export function readViews(text: string | null): Record<string, View[]> {
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? '{}');
  } catch {
    return {};
  }
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return {};
  const made: Record<string, View[]> = {};
  for (const [page, views] of Object.entries(stored)) {
    if (!Array.isArray(views)) continue;
    made[page] = views
      .filter((view): view is View => typeof view?.name === 'string' && typeof view?.query === 'string')
      .map(({ name, query }) => ({ name, query }))
      .slice(0, viewsMax);
  }
  return made;
}

class Views {
  #all = $state.raw<Record<string, View[]>>({});

  constructor() {
    this.#read();
    // Another tab saved or deleted one.
    window.addEventListener('storage', (event) => event.key === place && this.#read());
  }

  of(page: string): View[] {
    return this.#all[page] ?? [];
  }

  /** A name stands for one view: saving it again replaces it. */
  save(page: string, view: View) {
    this.#keep(page, [...this.of(page).filter((one) => one.name !== view.name), view].slice(-viewsMax));
  }
  remove(page: string, name: string) {
    this.#keep(page, this.of(page).filter((one) => one.name !== name));
  }

  #keep(page: string, views: View[]) {
    this.#all = { ...this.#all, [page]: views };
    try {
      localStorage.setItem(place, JSON.stringify(this.#all));
    } catch {
      // Storage is full or switched off: the views last as long as the page.
    }
  }
  #read() {
    try {
      this.#all = readViews(localStorage.getItem(place));
    } catch {
      this.#all = {};
    }
  }
}
export const views = new Views();
