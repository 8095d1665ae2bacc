import { useState } from 'preact/hooks';

import { send } from '../api/client';
import type { RevokedClient } from '../api/types';
import { Action, Card, Field } from '../components';

/** A form that revokes a client by its id, or a site by its name. */
export function RevokeClient() {
  const [id, setId] = useState('');
  const [isKeptOpen, setKeptOpen] = useState(false);
  const [done, setDone] = useState<RevokedClient>();
  const ofToken = isKeptOpen
    ? 'Its token stays open, so a device that still has the token can enrol again with a new key.'
    : 'Its token will enrol no new clients. Other clients that enrolled with it are not affected.';
  const confirm = {
    title: 'Revoke this client?',
    text: `The coordinator will reject all further requests from ${id}. This cannot be undone. Its past contributions stay. ${ofToken}`,
    word: 'Revoke the client',
  };
  const path = `/clients/${encodeURIComponent(id)}/revoke?keep_token_open=${isKeptOpen}`;
  return (
    <Card
      title="Revoke a client"
      note="Enter the client's id, which its own log shows, or the name of a site. Clients are not listed here; the view Clients lists sites, and `folkmoot token clients` lists the clients of a token."
    >
      <div class="inline">
        <Field label="Client">
          {(field) => <input {...field} value={id} onInput={(event) => setId(event.currentTarget.value.trim())} />}
        </Field>
        {id && (
          <Action kind="danger" act={async () => setDone(await send<RevokedClient>('POST', path))} confirm={confirm}>
            Revoke
          </Action>
        )}
      </div>
      <label class="check">
        <input type="checkbox" checked={isKeptOpen} onChange={(event) => setKeptOpen(event.currentTarget.checked)} /> Keep its token open to
        new clients
      </label>
      {done && (
        <p class="good" role="status">
          {done.client.id} is revoked. {tokenOf(done)}
        </p>
      )}
    </Card>
  );
}

function tokenOf({ client, token_closed }: RevokedClient): string {
  if (!client.token_id) return 'The token that it enrolled with is unknown.';
  return `Its token ${client.token_id} ${token_closed ? 'enrols no new clients' : 'is still open'}.`;
}
