import { useState } from 'preact/hooks';

import { get, send } from '../api/client';
import type { CreatedToken, Token } from '../api/types';
import { Action, Ago, Button, Card, Empty, ErrorNote, Field, Loaded, Page, Secret, Table } from '../components';
import { count, words } from '../format';
import { CLIENTS_MILLISECONDS, useData, useEvery } from '../live';
import { may } from '../session';
import { Keys, ROLES } from './api-keys';
import { AuditLog } from './audit-log';
import { RevokeClient } from './revoke-client';
import { Sessions } from './sessions';

/** Enrolment tokens, API keys, open sessions, the revocation of clients, and the audit log. */
export default function AccessView() {
  return (
    <Page title="Access">
      <Tokens />
      {may('privacy_officer') ? (
        <Keys />
      ) : (
        <Card title="API keys">
          <p class="note">Listing and creating API keys requires the key of an admin or a privacy officer.</p>
        </Card>
      )}
      {may('admin') && <Sessions />}
      {may('admin') && <RevokeClient />}
      {may('privacy_officer') && <AuditLog />}
      <Card title="Roles">
        <Table
          caption="Roles"
          rows={ROLES}
          keyOf={([role]) => role}
          columns={[
            { name: 'Role', show: ([role]) => words(role) },
            { name: 'Rights', show: ([, may]) => may },
          ]}
        />
      </Card>
    </Page>
  );
}

function Tokens() {
  const data = useData('tokens', (signal) => get<Token[]>('/tokens', signal));
  useEvery(CLIENTS_MILLISECONDS, data);
  const [made, setMade] = useState<CreatedToken>();
  return (
    <Card title="Enrolment tokens" note="A token lets clients enrol in a population. Ship it in your app or hand it out from your server.">
      {may('operator') && (
        <NewToken
          made={(token) => {
            setMade(token);
            data.again();
          }}
        />
      )}
      {made && <Secret name={`Token for ${made.record.population}`} value={made.token} />}
      <Loaded data={data}>
        {(tokens) =>
          tokens.length === 0 ? (
            <Empty>
              <h3>No client can enrol yet</h3>
              <p>
                An enrolment token lets clients of one app join. Create one above and give it to them, for example with{' '}
                <code>folkmoot client --token …</code>. This list will show how many have used it.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Enrolment tokens"
              rows={tokens}
              keyOf={(token) => token.id}
              columns={[
                { name: 'Token', show: (token) => <code>{token.id}</code> },
                { name: 'Name', show: (token) => token.name ?? '–' },
                { name: 'Population', show: (token) => token.population },
                {
                  name: 'Enrolled',
                  isNumber: true,
                  show: (token) => `${count(token.uses)} of ${token.uses_max ? count(token.uses_max) : 'any number'}`,
                },
                { name: 'Expires', show: (token) => (token.expires_at ? <Ago at={token.expires_at} /> : 'never') },
                { name: 'Created', show: (token) => <Ago at={token.created_at} /> },
                {
                  name: 'State',
                  show: (token) => <TokenState token={token} />,
                },
                ...(may('operator') ? [{ name: 'Revoke', show: (token: Token) => <RevokeToken token={token} done={data.again} /> }] : []),
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function TokenState({ token }: { token: Token }) {
  if (token.revoked_at) {
    return (
      <>
        revoked <Ago at={token.revoked_at} />
      </>
    );
  }
  if (!token.closed_at) return <>in use</>;
  return (
    <>
      closed <Ago at={token.closed_at} />, because one of its clients was revoked
    </>
  );
}

/**
 * Buttons that revoke a token alone, or the token together with its clients. The clients of a revoked token can still
 * be revoked.
 */
function RevokeToken({ token, done }: { token: Token; done: () => void }) {
  const withClients = {
    title: 'Revoke this token and its clients?',
    text: `The coordinator will reject all further requests from the ${count(token.uses)} clients that enrolled in ${token.population} with it. This cannot be undone; each client would have to enrol again with another token.`,
    word: 'Revoke the token and its clients',
  };
  return (
    <div class="actions">
      {!token.revoked_at && <RevokeTokenOnly token={token} done={done} />}
      {may('admin') && token.uses > 0 && (
        <Action kind="danger" act={() => send('POST', `/tokens/${token.id}/revoke-clients`)} done={done} confirm={withClients}>
          Revoke with clients
        </Action>
      )}
    </div>
  );
}

function RevokeTokenOnly({ token, done }: { token: Token; done: () => void }) {
  const confirm = {
    title: 'Revoke this token?',
    text: `No more clients can enrol in ${token.population} with it. This cannot be undone. The ${count(token.uses)} clients that it enrolled stay enrolled.`,
    word: 'Revoke the token',
  };
  return (
    <Action kind="danger" act={() => send('DELETE', `/tokens/${token.id}`)} done={done} confirm={confirm}>
      Revoke
    </Action>
  );
}

function NewToken({ made }: { made: (token: CreatedToken) => void }) {
  const [population, setPopulation] = useState('');
  const [uses, setUses] = useState('1000');
  const [isUnlimited, setUnlimited] = useState(false);
  const [days, setDays] = useState('30');
  const [isEndless, setEndless] = useState(false);
  const [user, setUser] = useState('');
  const [name, setName] = useState('');
  const [error, setError] = useState<Error>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const body = {
      population,
      ...(isUnlimited ? { unlimited_uses: true } : { uses_max: Number(uses) }),
      ...(isEndless ? { no_expiry: true } : { expires_in_seconds: Math.round(Number(days) * 86_400) }),
      ...(user ? { user } : {}),
      ...(name ? { name } : {}),
    };
    try {
      made(await send<CreatedToken>('POST', '/tokens', body));
      setError(undefined);
    } catch (caught) {
      setError(caught as Error);
    }
  };
  return (
    <form class="inline" onSubmit={(event) => void submit(event)}>
      <Field label="Population">
        {(field) => (
          <input
            {...field}
            required
            value={population}
            pattern="[a-z][a-z0-9\-]*"
            onInput={(event) => setPopulation(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Maximum number of clients">
        {(field) => (
          <input
            {...field}
            type="number"
            min="1"
            required
            disabled={isUnlimited}
            value={uses}
            onInput={(event) => setUses(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Days until it expires">
        {(field) => (
          <input
            {...field}
            type="number"
            min="0.01"
            step="any"
            required
            disabled={isEndless}
            value={days}
            onInput={(event) => setDays(event.currentTarget.value)}
          />
        )}
      </Field>
      <label class="check">
        <input type="checkbox" checked={isUnlimited} onChange={(event) => setUnlimited(event.currentTarget.checked)} /> Unlimited clients
      </label>
      <label class="check">
        <input type="checkbox" checked={isEndless} onChange={(event) => setEndless(event.currentTarget.checked)} /> Never expires
      </label>
      <Field label="User who owns the devices (if users are protected)">
        {(field) => <input {...field} maxLength={128} value={user} onInput={(event) => setUser(event.currentTarget.value)} />}
      </Field>
      <Field label="Token name (in a population of sites, the site)">
        {(field) => <input {...field} maxLength={128} value={name} onInput={(event) => setName(event.currentTarget.value)} />}
      </Field>
      <Button type="submit" kind="primary">
        Create a token
      </Button>
      {(isUnlimited || isEndless) && (
        <p class="fault" role="status">
          {isUnlimited
            ? 'Anyone who finds this token can enrol any number of clients and outvote the honest ones.'
            : 'Anyone who finds this token, even years from now, can enrol with it until you revoke it.'}
        </p>
      )}
      {error && <ErrorNote error={error} />}
    </form>
  );
}
