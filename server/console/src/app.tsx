/** The frame around every view: the signed-in user, the navigation, and the view for the current address. */

import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';

import { get, isRefusal } from './api/client';
import type { Session } from './api/types';
import { ErrorNote, Link } from './components';
import { Frame } from './frame';
import { connect, disconnect } from './live';
import { follow, usePath } from './router';
import { signedIn, signedOut, useSession } from './session';
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
    <div class="frame" onClick={follow}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Frame session={session} />
      <main id="main" tabIndex={-1}>
        <Shown />
      </main>
    </div>
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
