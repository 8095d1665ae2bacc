import { get, send } from '../api/client';
import type { OpenSession } from '../api/types';
import { Action, Ago, Card, Empty, Loaded, Table } from '../components';
import { words } from '../format';
import { useData } from '../live';

/** The open sessions of the organisation's people and keys, which an admin can end. */
export function Sessions() {
  const data = useData('sessions', (signal) => get<OpenSession[]>('/sessions', signal));
  return (
    <Card title="Sessions" note="Everybody who is signed in, also on the command line. A session that you end cannot be used any more.">
      <Loaded data={data}>
        {(sessions) =>
          sessions.length === 0 ? (
            <Empty>
              <p>Nobody is signed in.</p>
            </Empty>
          ) : (
            <Table
              caption="Sessions"
              rows={sessions}
              keyOf={(session) => session.id}
              columns={[
                { name: 'Who', show: whoOf },
                { name: 'Role', show: (session) => words(session.role) },
                { name: 'Signed in', show: (session) => <Ago at={session.created_at} /> },
                { name: 'Last used', show: (session) => (session.last_used_at ? <Ago at={session.last_used_at} /> : '–') },
                { name: 'Expires', show: (session) => <Ago at={session.expires_at} /> },
                { name: 'End', show: (session) => <EndSession session={session} done={data.again} /> },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

function whoOf(session: OpenSession): string {
  const { person } = session;
  return person ? `${person.name} (${person.provider}: ${person.subject})` : `API key “${session.api_key_name}”`;
}

/** Buttons that end a session, or all sessions of its person. */
function EndSession({ session, done }: { session: OpenSession; done: () => void }) {
  const { person } = session;
  const confirm = {
    title: `End all sessions of ${person?.name}?`,
    text: 'Unsaved input in open pages is lost. The person can sign in again, unless you remove their groups at the identity provider first.',
    word: 'End the sessions',
  };
  const endAll = () => send('POST', '/sessions/end', { provider: person?.provider, subject: person?.subject });
  return (
    <div class="actions">
      <Action kind="danger" act={() => send('DELETE', `/sessions/${session.id}`)} done={done}>
        End
      </Action>
      {person && (
        <Action kind="danger" act={endAll} done={done} confirm={confirm}>
          End all of this person
        </Action>
      )}
    </div>
  );
}
