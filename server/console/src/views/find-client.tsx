import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { Client } from '../api/types';
import { Ago, Button, Card, ErrorNote, Facts, Field } from '../components';

/** Looks up one client by its id: when and with which token it enrolled, and whether it was revoked. */
export function FindClient() {
  const [id, setId] = useState('');
  const [found, setFound] = useState<Client>();
  const [error, setError] = useState<Error>();
  const find = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    setFound(undefined);
    try {
      setFound(await get<Client>(`/clients/${encodeURIComponent(id.trim())}`));
    } catch (caught) {
      setError(caught as Error);
    }
  };
  return (
    <Card title="Find a client" note="A client logs its own id. This says whether the coordinator still accepts it.">
      <form class="inline" onSubmit={(event) => void find(event)}>
        <Field label="Id of the client">
          {(field) => (
            <input {...field} value={id} onInput={(event) => setId(event.currentTarget.value)} placeholder="or the name of its site" />
          )}
        </Field>
        <Button type="submit" disabled={id.trim() === ''}>
          Find
        </Button>
      </form>
      {error && <ErrorNote error={error} />}
      {found && (
        <Facts
          facts={[
            ['Client', <code>{found.id}</code>],
            ...(found.site ? [['Site', found.site] as [string, string]] : []),
            ['Population', found.population],
            ['Enrolled', <Ago at={found.enrolled_at} />],
            ['With token', found.token_id ? <code>{found.token_id}</code> : 'not recorded'],
            [
              'State',
              found.revoked_at ? (
                <>
                  revoked <Ago at={found.revoked_at} />: the coordinator refuses its requests
                </>
              ) : (
                'enrolled: the coordinator accepts its requests'
              ),
            ],
          ]}
        />
      )}
    </Card>
  );
}
