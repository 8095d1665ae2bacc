import { useState } from 'preact/hooks';

import { get, send } from '../api/client';
import type { Site, Sites } from '../api/types';
import { Action, Ago, Button, Card, Loaded, Table } from '../components';
import { told, words } from '../format';
import { CLIENTS_MILLISECONDS, useData, useEvery } from '../live';
import { may } from '../session';

const PAGE = 100;

/** The named sites of a population, with their latest activity. */
export function SitesOf({ name }: { name: string }) {
  const [after, setAfter] = useState<string>();
  const from = after ? `&after=${after}` : '';
  const data = useData(`sites ${name} ${after}`, (signal) => get<Sites>(`/populations/${name}/sites?limit=${PAGE}${from}`, signal));
  useEvery(CLIENTS_MILLISECONDS, data);
  return (
    <Card title="Sites" note="Each site has the name of the token that it enrolled with.">
      <Loaded data={data}>
        {({ sites, withheld }) => (
          <>
            {withheld && <p class="note">{withheld}</p>}
            <Table
              caption="Sites by name"
              rows={sites}
              keyOf={(site) => site.client}
              columns={[
                { name: 'Site', show: (site) => site.name },
                { name: 'Last seen', show: (site) => (typeof site.last_seen_at === 'number' ? <Ago at={site.last_seen_at} /> : '–') },
                { name: 'Enrolled', show: (site) => <Ago at={site.enrolled_at} /> },
                { name: 'SDK', show: (site) => site.sdk_version ?? '–' },
                { name: 'Attributes', show: attributes },
                { name: 'Failures', isNumber: true, show: (site) => told(site.failures) },
                { name: 'Last failure', show: (site) => <Failure site={site} /> },
                { name: 'State', show: (site) => <State site={site} /> },
                ...(may('admin') ? [{ name: 'Revoke', show: (site: Site) => <Revoke site={site} done={data.again} /> }] : []),
              ]}
            />
            <div class="actions">
              {after && <Button onClick={() => setAfter(undefined)}>First sites</Button>}
              {sites.length === PAGE && <Button onClick={() => setAfter(sites.at(-1)?.client)}>More sites</Button>}
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function attributes(site: Site): string {
  const said = Object.entries(site.attributes).map(([name, value]) => `${name}: ${value}`);
  return said.join(', ') || '–';
}

function Failure({ site: { last_failure } }: { site: Site }) {
  if (!last_failure) return <>–</>;
  return (
    <>
      {words(last_failure.reason ?? last_failure.kind)}
      {last_failure.detail && ` (${last_failure.detail})`}, <Ago at={last_failure.at} />
    </>
  );
}

function State({ site }: { site: Site }) {
  if (!site.revoked_at) return <>enrolled</>;
  return (
    <>
      revoked <Ago at={site.revoked_at} />
    </>
  );
}

function Revoke({ site, done }: { site: Site; done: () => void }) {
  if (site.revoked_at) return null;
  const confirm = {
    title: `Revoke “${site.name}”?`,
    text: 'The coordinator will reject all further requests of the site, and its token will enrol no new client. This cannot be undone. Its past contributions stay.',
    word: 'Revoke the site',
  };
  return (
    <Action kind="danger" act={() => send('POST', `/clients/${site.client}/revoke`)} done={done} confirm={confirm}>
      Revoke
    </Action>
  );
}
