import { useState } from 'preact/hooks';

import { get, send } from '../api/client';
import type { ApiKey, CreatedApiKey } from '../api/types';
import { Action, Ago, Button, Card, ErrorNote, Field, Loaded, Secret, Table } from '../components';
import { words } from '../format';
import { useData } from '../live';
import { may } from '../session';

/** The roles of keys, and what each may do. */
export const ROLES: [string, string][] = [
  ['viewer', 'can see everything but change nothing'],
  ['operator', 'can also run tasks, upload models and create enrolment tokens'],
  [
    'privacy_officer',
    'can see what viewers see, the API keys and the audit log, and raise privacy budgets. While there is one, nobody else can raise them',
  ],
  ['admin', 'can do what operators can, and create API keys, set privacy budgets and revoke clients'],
  ['aggregator', 'can only sum the updates of a site, as an edge aggregator'],
];

/** The roles of the keys that a privacy officer creates. */
const OF_OFFICERS = ['viewer', 'privacy_officer'];

/** The API keys, and a form that creates one. */
export function Keys() {
  const data = useData('api-keys', (signal) => get<ApiKey[]>('/api-keys', signal));
  const [made, setMade] = useState<CreatedApiKey>();
  return (
    <Card title="API keys" note="An API key lets a person or a program use this console, the command line and the API.">
      <NewKey
        made={(key) => {
          setMade(key);
          data.again();
        }}
      />
      {made && <Secret name={`API key for ${made.record.name}`} value={made.api_key} />}
      <Loaded data={data}>
        {(keys) => (
          <Table
            caption="API keys"
            rows={keys}
            keyOf={(key) => key.id}
            columns={[
              { name: 'Key', show: (key) => <code>{key.id}</code> },
              { name: 'Name', show: (key) => key.name },
              { name: 'Role', show: (key) => words(key.role) },
              { name: 'Created', show: (key) => <Ago at={key.created_at} /> },
              { name: 'Last used', show: (key) => (key.last_used_at ? <Ago at={key.last_used_at} /> : '–') },
              { name: 'Expires', show: (key) => (key.expires_at ? <Ago at={key.expires_at} /> : 'never') },
              {
                name: 'State',
                show: (key) =>
                  key.revoked_at ? (
                    <>
                      revoked <Ago at={key.revoked_at} />
                    </>
                  ) : (
                    stateOf(key)
                  ),
              },
              {
                name: 'Change',
                show: (key) =>
                  (may('admin') || key.role === 'privacy_officer') && (
                    <div class="actions">
                      <RotateKey apiKey={key} made={setMade} done={data.again} />
                      <RevokeKey apiKey={key} done={data.again} />
                    </div>
                  ),
              },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** A button that gives a key a new secret. The old one stays valid for a day. */
function RotateKey({ apiKey, made, done }: { apiKey: ApiKey; made: (key: CreatedApiKey) => void; done: () => void }) {
  if (stateOf(apiKey) === 'expired' || apiKey.revoked_at) return null;
  const confirm = {
    title: `Rotate the key “${apiKey.name}”?`,
    text: 'It gets a new secret, which is shown once. The old secret stays valid for a day, so that you can exchange it everywhere. If somebody else may have it, revoke the key, or use “folkmoot key rotate --overlap 0”.',
    word: 'Rotate the key',
  };
  const rotate = async () => made(await send<CreatedApiKey>('POST', `/api-keys/${apiKey.id}/rotate`, {}));
  return (
    <Action act={rotate} done={done} confirm={confirm}>
      Rotate
    </Action>
  );
}

function stateOf(key: ApiKey): string {
  return key.expires_at && key.expires_at <= Date.now() ? 'expired' : 'in use';
}

function RevokeKey({ apiKey, done }: { apiKey: ApiKey; done: () => void }) {
  if (apiKey.revoked_at) return null;
  const confirm = {
    title: `Revoke the key “${apiKey.name}”?`,
    text: 'Everyone who uses it loses access at once, and their sessions end. This cannot be undone.',
    word: 'Revoke the key',
  };
  return (
    <Action kind="danger" act={() => send('DELETE', `/api-keys/${apiKey.id}`)} done={done} confirm={confirm}>
      Revoke
    </Action>
  );
}

function NewKey({ made }: { made: (key: CreatedApiKey) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState('viewer');
  const [days, setDays] = useState('');
  const [error, setError] = useState<Error>();
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const body = { name, role, ...(days ? { expires_in_seconds: Math.round(Number(days) * 86_400) } : {}) };
      made(await send<CreatedApiKey>('POST', '/api-keys', body));
      setError(undefined);
      setName('');
    } catch (caught) {
      setError(caught as Error);
    }
  };
  return (
    <form class="inline" onSubmit={(event) => void submit(event)}>
      <Field label="Name">
        {(field) => <input {...field} required value={name} onInput={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Field label="Role">
        {(field) => (
          <select {...field} value={role} onChange={(event) => setRole(event.currentTarget.value)}>
            {ROLES.filter(([one]) => may('admin') || OF_OFFICERS.includes(one)).map(([one]) => (
              <option key={one} value={one}>
                {words(one)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Days until it expires (empty: never)">
        {(field) => (
          <input {...field} type="number" min="0.01" step="any" value={days} onInput={(event) => setDays(event.currentTarget.value)} />
        )}
      </Field>
      <Button type="submit" kind="primary">
        Create a key
      </Button>
      {error && <ErrorNote error={error} />}
    </form>
  );
}
