/** The signed-in session. The page does not store the API key, only a cookie that scripts cannot read. */

import { useEffect, useState } from 'preact/hooks';

import type { Session } from './api/types';

export type Role = 'viewer' | 'operator' | 'privacy_officer' | 'admin';
/** The roles whose rights each role has. */
const RIGHTS: Record<string, Role[]> = {
  viewer: ['viewer'],
  operator: ['viewer', 'operator'],
  privacy_officer: ['viewer', 'privacy_officer'],
  admin: ['viewer', 'operator', 'privacy_officer', 'admin'],
};

type State = { known: false } | { known: true; session: Session | null; why?: string | undefined };
let state: State = { known: false };
const listeners = new Set<() => void>();

function become(next: State): void {
  state = next;
  for (const listener of listeners) listener();
}

/** Returns the anti-forgery token, which must accompany every request that changes something. */
export function token(): string {
  return state.known ? (state.session?.csrf_token ?? '') : '';
}

export function signedIn(session: Session): void {
  become({ known: true, session });
}

/** Ends the session in this page. The sign-in form then shows `why`. */
export function signedOut(why?: string): void {
  if (!state.known || state.session) become({ known: true, session: null, why });
}

export function may(role: Role): boolean {
  const rights = state.known && state.session ? RIGHTS[state.session.role] : undefined;
  return rights?.includes(role) ?? false;
}

export function useSession(): State {
  const [, set] = useState(0);
  useEffect(() => {
    const listener = () => set((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return state;
}
