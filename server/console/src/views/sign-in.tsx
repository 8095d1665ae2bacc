import { useState } from 'preact/hooks';

import { send } from '../api/client';
import type { Session } from '../api/types';
import { Button, ErrorNote, Field } from '../components';
import { signedIn } from '../session';

/** The sign-in form. The browser stores a session instead of the API key. */
export function SignIn({ why }: { why?: string | undefined }) {
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
      <h1>Folkmoot</h1>
      {why && (
        <p class="note" role="status">
          {why}
        </p>
      )}
      <form class="card" onSubmit={(event) => void submit(event)}>
        <Field
          label="API key"
          hint="`folkmoot serve` prints the first key when it starts on an empty data folder; `folkmoot key create` creates more. The browser does not store the key."
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
