import { get } from '../api/client';
import type { Clients, Overview, Population, Share } from '../api/types';
import { Card, Empty, Facts, Link, Loaded, Meter, Page } from '../components';
import { count, told, words } from '../format';
import { CLIENTS_MILLISECONDS, useData, useEvery } from '../live';
import { may } from '../session';
import { FindClient } from './find-client';
import { Rollouts } from './rollouts';
import { SitesOf } from './sites';

/** Aggregate figures about the clients of a population, its sites if they are named, and its rollouts. */
export default function ClientsView({ parameters: [name] }: { parameters: string[] }) {
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal));
  useEvery(CLIENTS_MILLISECONDS, overview);
  return (
    <Page title={name ? `Clients of ${name}` : 'Clients'}>
      <Loaded data={overview}>
        {({ populations }) => {
          const shown = name ?? populations[0]?.name;
          if (!shown)
            return (
              <Empty>
                <h2>There are no clients yet</h2>
                <p>
                  Clients enrol with a token, and belong to the population of one app. This view will show how many are enrolled, waiting
                  and training, and which SDKs and devices they have. <Link to="/access">Create an enrolment token</Link>, or run{' '}
                  <code>folkmoot token create my-app</code>.
                </p>
              </Empty>
            );
          return (
            <>
              {populations.length > 1 && (
                <nav class="tabs" aria-label="Populations">
                  {populations.map((one) => (
                    <a
                      key={one.name}
                      href={`/console/clients/${one.name}`}
                      {...(one.name === shown ? { 'aria-current': 'page' as const } : {})}
                    >
                      {one.name}
                    </a>
                  ))}
                </nav>
              )}
              <Distributions name={shown} />
              {may('admin') && <FindClient />}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Distributions({ name }: { name: string }) {
  const populations = useData('populations', (signal) => get<Population[]>('/populations', signal));
  const isOfSites = populations.data?.some((one) => one.name === name && one.clients === 'sites');
  const data = useData(`clients ${name}`, (signal) => get<Clients>(`/populations/${name}/clients`, signal));
  useEvery(CLIENTS_MILLISECONDS, data);
  return (
    <Loaded data={data}>
      {(clients) => (
        <>
          <Card title={name}>
            <Facts
              facts={[
                ['Enrolled', count(clients.enrolled)],
                ['Waiting for a round', told(clients.waiting)],
                ['Training', told(clients.training)],
                ['Revoked', count(clients.revoked)],
              ]}
            />
            <p class="note">
              The charts count the clients that are waiting right now. Groups of fewer than {clients.group_min} are combined as “other”.
            </p>
          </Card>
          {isOfSites && may('operator') && <SitesOf name={name} />}
          <Rollouts population={name} />
          <div class="columns">
            <Shares title="SDK version" shares={clients.sdk_versions} />
            {Object.entries(clients.attributes).map(([attribute, shares]) => (
              <Shares key={attribute} title={words(attribute)} shares={shares} />
            ))}
            <Shares title="Examples on the device" shares={clients.example_counts} withheld={clients.withheld} />
            <Shares
              title="Training speed"
              note="Examples per second, from the updates of the last day."
              shares={clients.training_speed}
              withheld={clients.withheld}
            />
          </div>
        </>
      )}
    </Loaded>
  );
}

type SharesProps = { title: string; note?: string; shares: Share[] | null | undefined; withheld?: string | null | undefined };

function Shares({ title, note, shares, withheld }: SharesProps) {
  if (!shares)
    return (
      <Card title={title}>
        <p class="note">{withheld}</p>
      </Card>
    );
  const all = shares.reduce((sum, share) => sum + share.clients, 0);
  return (
    <Card title={title} {...(note ? { note } : {})}>
      {shares.length === 0 ? (
        <p class="note">No clients to count right now.</p>
      ) : (
        shares.map((share) => (
          <Meter
            key={share.value}
            label={share.value}
            value={share.clients}
            max={all}
            text={`${count(share.clients)} (${Math.round((100 * share.clients) / all)} %)`}
          />
        ))
      )}
    </Card>
  );
}
