// Where the reader is: every view is an address. Changing a filter replaces the address, following a
// link adds one, so that back and reload show what was there.

class Place {
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));
  hash = $state(location.hash);

  get segments(): string[] {
    return this.path.split('/').filter(Boolean).map(decodeURIComponent);
  }

  read() {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
    this.hash = location.hash;
  }
}

export const place = new Place();

export function go(address: string, how: 'push' | 'replace' = 'push') {
  if (how === 'push') history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  const samePath = place.path === location.pathname;
  place.read();
  if (how === 'push' && !samePath) window.scrollTo(0, 0);
}

/** The value of a filter in the address; empty when it is not set. */
export function filter(name: string): string {
  return place.query.get(name) ?? '';
}

/** All values of a filter that may be there more than once. */
export function filters(name: string): string[] {
  return place.query.getAll(name);
}
export function setFilters(name: string, values: string[]) {
  const query = new URLSearchParams(place.query);
  query.delete(name);
  for (const value of values) query.append(name, value);
  show(query);
}

export function setFilter(name: string, value: string) {
  const query = new URLSearchParams(place.query);
  if (value) query.set(name, value);
  else query.delete(name);
  show(query);
}
function show(query: URLSearchParams) {
  const text = query.toString();
  go(place.path + (text ? `?${text}` : '') + place.hash, 'replace');
}

/** The same page with another value of one filter, as an address to link to. */
export function withFilter(name: string, value: string): string {
  const query = new URLSearchParams(place.query);
  if (value) query.set(name, value);
  else query.delete(name);
  const text = query.toString();
  return place.path + (text ? `?${text}` : '');
}

function onClick(event: MouseEvent) {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (!link || link.target || link.origin !== location.origin || link.hasAttribute('download')) return;
  if (link.pathname.startsWith('/api/')) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}

export function startRouter() {
  window.addEventListener('popstate', () => place.read());
  document.addEventListener('click', onClick);
}
