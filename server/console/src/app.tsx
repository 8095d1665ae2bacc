/** The frame around every view: the signed-in user, the navigation, and the view for the current address. */

import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';

import { get, isRefusal, send } from './api/client';
import type { Session, SignedOut } from './api/types';
import { Action, ErrorNote, Link } from './components';
import { words } from './format';
import { connect, disconnect, useConnection } from './live';
import { follow, usePath } from './router';
import { may, signedIn, signedOut, useSession } from './session';
import { chooseTheme, type Theme, theme } from './theme';
import { OverviewView } from './views/overview';
import { SignIn } from './views/sign-in';

type View = ComponentType<{ parameters: string[] }>;
type Route = { pattern: RegExp; view: () => Promise<{ default: View }> };

const ROUTES: Route[] = [
  { pattern: /^\/tasks$/, view: () => import('./views/tasks') },
  { pattern: /^\/tasks\/new$/, view: () => import('./views/create') },
  { pattern: /^\/tasks\/compare\/([^/]+)$/, view: () => import('./views/compare') },
  { pattern: /^\/tasks\/([^/]+)$/, view: () => import('./views/task') },
  { pattern: /^\/rounds\/([^/]+)$/, view: () => import('./views/round') },
  { pattern: /^\/clients(?:\/([^/]+))?$/, view: () => import('./views/clients') },
  { pattern: /^\/models(?:\/([^/]+))?$/, view: () => import('./views/models') },
  { pattern: /^\/privacy$/, view: () => import('./views/privacy') },
  { pattern: /^\/privacy\/tasks\/([^/]+)$/, view: () => import('./views/statement') },
  { pattern: /^\/access$/, view: () => import('./views/access') },
  { pattern: /^\/system$/, view: () => import('./views/system') },
];

const PLACES: [string, string, 'viewer' | 'operator'][] = [
  ['/', 'Overview', 'viewer'],
  ['/tasks', 'Tasks', 'viewer'],
  ['/clients', 'Clients', 'viewer'],
  ['/models', 'Models', 'viewer'],
  ['/privacy', 'Privacy', 'viewer'],
  ['/access', 'Access', 'viewer'],
  ['/system', 'System', 'operator'],
];

/** The interval at which the role of a signed-in person is read again. */
const ROLE_MILLISECONDS = 30_000;

export function App() {
  const state = useSession();
  const session = state.known ? state.session : null;
  const [error, setError] = useState<Error>();
  const begin = () => {
    setError(undefined);
    get<Session>('/session').then(signedIn, (caught: Error) => (isRefusal(caught) ? signedOut() : setError(caught)));
  };
  useEffect(begin, []);
  const isSignedIn = session !== null;
  const isPerson = Boolean(session?.person);
  useEffect(() => {
    // The role of a person follows the groups at the identity provider.
    if (!isPerson) return;
    const timer = setInterval(() => document.hidden || get<Session>('/session').then(signedIn, () => undefined), ROLE_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isPerson]);
  useEffect(() => {
    if (!isSignedIn) return;
    connect();
    return disconnect;
  }, [isSignedIn]);
  if (error) return <ErrorNote error={error} again={begin} />;
  if (!state.known)
    return (
      <p class="note centre" role="status">
        Loading…
      </p>
    );
  if (!session) return <SignIn why={state.why} />;
  return (
    <div onClick={follow}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Bar session={session} />
      <main id="main" tabIndex={-1}>
        <Shown />
      </main>
    </div>
  );
}

function Bar({ session }: { session: Session }) {
  const at = usePath().split('?')[0] ?? '/';
  const connection = useConnection();
  const [chosen, setChosen] = useState<Theme>(theme());
  const choose = (event: Event) => {
    const next = (event.currentTarget as HTMLSelectElement).value as Theme;
    chooseTheme(next);
    setChosen(next);
  };
  const end = async () => {
    let out: SignedOut | undefined;
    try {
      out = await send<SignedOut | undefined>('DELETE', '/session');
    } catch (caught) {
      if (!isRefusal(caught as Error)) throw caught;
      // Another tab may have signed in again and changed the token: end the session that exists now.
      const now = await get<Session>('/session').catch((error: Error) => (isRefusal(error) ? null : Promise.reject(error)));
      if (now) {
        signedIn(now);
        out = await send<SignedOut | undefined>('DELETE', '/session');
      }
    }
    signedOut();
    if (out) location.assign(out.provider_url);
  };
  const isHere = (to: string) => (to === '/' ? at === '/' : at.startsWith(to));
  const said = { live: 'Live', polling: 'Updating every 3 s', off: 'Not connected' }[connection];
  return (
    <header class="bar">
      <strong class="brand">Folkmoot</strong>
      <nav aria-label="Main">
        {PLACES.filter(([, , role]) => may(role)).map(([to, name]) => (
          <a key={to} href={`/console${to}`} {...(isHere(to) ? { 'aria-current': 'page' as const } : {})}>
            {name}
          </a>
        ))}
      </nav>
      <div class="who">
        <span class={`connection ${connection}`} role="status">
          {said}
        </span>
        <span title={session.person ? `${session.person.provider}: ${session.person.subject}` : `API key ${session.api_key_id}`}>
          {session.person?.name ?? session.api_key_name} ({words(session.role)})
        </span>
        <label class="theme">
          <span class="hidden">Colours</span>
          <select value={chosen} onChange={choose}>
            <option value="system">System colours</option>
            <option value="light">Light</option>
            <option value="dark">Dark</option>
          </select>
        </label>
        <Action act={end}>Sign out</Action>
      </div>
    </header>
  );
}

function Shown() {
  const at = usePath().split('?')[0] ?? '/';
  const [loaded, setLoaded] = useState<{ at: string; view: View; parameters: string[] }>();
  const [error, setError] = useState<Error>();
  const isFirst = useRef(true);
  useEffect(() => {
    setError(undefined);
    if (at === '/') return setLoaded({ at, view: OverviewView, parameters: [] });
    for (const { pattern, view } of ROUTES) {
      const found = pattern.exec(at);
      if (!found) continue;
      const parameters = found
        .slice(1)
        .filter((part) => part !== undefined)
        .map(decodeURIComponent);
      let isOver = false;
      view().then(
        (module) => isOver || setLoaded({ at, view: module.default, parameters }),
        () => isOver || setError(new Error('This view could not be loaded. The coordinator may have been updated; reload the page.')),
      );
      return () => {
        isOver = true;
      };
    }
    return setLoaded({ at, view: Nowhere, parameters: [] });
  }, [at]);
  useEffect(() => {
    if (!isFirst.current) document.querySelector<HTMLElement>('main h1')?.focus();
    isFirst.current = !loaded;
  }, [loaded]);
  if (error) return <ErrorNote error={error} />;
  if (!loaded)
    return (
      <p class="note" role="status">
        Loading…
      </p>
    );
  const { view: Current, parameters } = loaded;
  // Keep showing the error of a failed view until the user opens another view, because rendering it again would fail
  // again.
  return (
    <Guarded key={loaded.at}>
      <Current parameters={parameters} />
    </Guarded>
  );
}

/** Shows a view, or an error if the view fails to render. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [broken] = useErrorBoundary();
  if (!broken) return <>{children}</>;
  return (
    <ErrorNote
      error={
        new Error(
          `This view cannot show the coordinator's response (${String(broken)}). Other views still work. Please report this text with the page's address.`,
        )
      }
    />
  );
}

function Nowhere() {
  return (
    <>
      <h1 tabIndex={-1}>Page not found</h1>
      <p>
        <Link to="/">Go to the overview</Link>
      </p>
    </>
  );
}
