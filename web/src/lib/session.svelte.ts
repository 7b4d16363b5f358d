// Who is logged in and what they may do. A token never stays in the page: it is exchanged for a
// cookie that scripts cannot read.
import { api, got, whenUnauthorized, type Session } from '../api/client';

type Role = 'viewer' | 'submitter' | 'operator' | 'admin';
const roles: Role[] = ['viewer', 'submitter', 'operator', 'admin'];

class Login {
  known = $state<Session | null>(null);
  trouble = $state('');

  get admitted(): boolean {
    return this.known?.admitted === true;
  }

  /** Whether what is logged in may do what needs this role. A worker's token only reads here. */
  may(role: Role): boolean {
    const own = this.known?.role;
    if (!this.admitted || !own) return false;
    return roles.indexOf(own === 'worker' ? 'viewer' : (own as Role)) >= roles.indexOf(role);
  }
}
export const login = new Login();

export async function readSession() {
  login.known = await got(api.GET('/api/session'));
}

export async function logIn(token: string): Promise<boolean> {
  try {
    login.known = await got(api.POST('/api/session', { body: { token } }));
    login.trouble = '';
  } catch (error) {
    login.trouble = error instanceof Error ? error.message : String(error);
  }
  return login.admitted;
}

export async function logOut() {
  await got(api.DELETE('/api/session'));
  await readSession();
}

/** A login link carries its pass in the fragment, which is never sent; it is removed at once. */
export async function startSession() {
  const pass = new URLSearchParams(location.hash.slice(1)).get('login');
  if (pass) {
    history.replaceState(null, '', location.pathname + location.search);
    await readSession();
    if (!login.admitted) await logIn(pass);
    return;
  }
  await readSession();
}

whenUnauthorized(() => {
  if (login.known) login.known = { ...login.known, admitted: false, role: null, name: null };
});
