import { useEffect, useState } from 'preact/hooks';

import { get, send } from '../api/client';
import type { Providers, Session } from '../api/types';
import { Button, ErrorNote, Field } from '../components';
import { Mark } from '../components/icons';
import { signedIn } from '../session';

/** Explanations by error code, for a browser that an identity provider has led back without a session. */
const REFUSED: Record<string, string> = {
  role_insufficient: 'You have no role here: none of your groups at the identity provider has one. Ask an admin of this coordinator.',
  identity_provider_unavailable: 'The identity provider cannot be reached. Try again in a moment.',
  resource_unknown: 'The organisation of this identity provider does not exist or is closed. Ask an admin of this coordinator.',
};
const FAILED = 'The sign-in failed: it was cancelled, took too long or could not be verified. Try again.';

/** Returns why the last sign-in with a provider was refused. */
function refused(): string | undefined {
  const code = new URLSearchParams(location.search).get('refused');
  return code === null ? undefined : (REFUSED[code] ?? FAILED);
}

/** The sign-in form. The browser stores a session instead of the API key. */
export function SignIn({ why }: { why?: string | undefined }) {
  const [providers, setProviders] = useState<string[]>([]);
  const [refusal] = useState(refused);
  useEffect(() => {
    // Without the list, an API key still signs in.
    get<Providers>('/sign-in').then(
      (listed) => setProviders(listed.providers),
      () => undefined,
    );
    if (refusal) history.replaceState(null, '', location.pathname);
  }, []);
  const [key, setKey] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      signedIn(await send<Session>('POST', '/session', { api_key: key.trim() }));
    } catch (caught) {
      setError(caught as Error);
    }
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <h1>
        <Mark /> Folkmoot
      </h1>
      {why && (
        <p class="note" role="status">
          {why}
        </p>
      )}
      {refusal && <ErrorNote error={new Error(refusal)} />}
      {providers.length > 0 && (
        <ul class="card providers">
          {providers.map((name) => (
            <li key={name}>
              <a class="button primary" href={`/v1/admin/sign-in/${name}`}>
                Sign in with {name}
              </a>
            </li>
          ))}
        </ul>
      )}
      <form class="card" onSubmit={(event) => void submit(event)}>
        <Field
          label="API key"
          hint={
            <>
              <code>folkmoot serve</code> prints the first key when it starts on an empty data folder; <code>folkmoot key create</code>{' '}
              creates more. The browser does not store the key.
            </>
          }
        >
          {(field) => (
            <input
              {...field}
              type="password"
              autocomplete="current-password"
              required
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
          )}
        </Field>
        {error && <ErrorNote error={error} />}
        <Button kind="primary" type="submit" disabled={isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
