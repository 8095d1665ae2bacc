import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { LedgerEntry, Population } from '../api/types';
import { Button, Card, Empty, Id, Link, Loaded, Page, Table, Time } from '../components';
import { count, number } from '../format';
import { useData } from '../live';
import { may } from '../session';
import { Planner } from './planner';
import { SetPrivacy } from './set-privacy';

const PAGE = 20;

/** Privacy budgets, the ledger, and the planner. */
export default function PrivacyView() {
  const data = useData('populations', (signal) => get<Population[]>('/populations', signal));
  return (
    <Page title="Privacy">
      <Loaded data={data}>
        {(populations) => (
          <>
            <Card title="Budgets" note="The privacy loss that all tasks of a population together may cause to a client or user.">
              {populations.length === 0 ? (
                <Empty>
                  <h3>No population yet</h3>
                  <p>
                    A population is the set of all clients of one app. When it has a task with noise, this table shows how much privacy its
                    clients may lose in all, and the ledger every version that spent some.
                  </p>
                </Empty>
              ) : (
                <Table
                  caption="Privacy budgets of populations"
                  rows={populations}
                  keyOf={(one) => one.name}
                  columns={[
                    { name: 'Population', show: (one) => one.name },
                    { name: 'Protects', show: (one) => `every ${one.unit}` },
                    { name: 'Epsilon', isNumber: true, show: (one) => (one.epsilon ? number(one.epsilon) : "the tasks' own") },
                    { name: 'Delta', isNumber: true, show: (one) => number(one.delta) },
                    { name: 'Clients', isNumber: true, show: (one) => count(one.client_count) },
                  ]}
                />
              )}
              {may('privacy_officer') && populations.length > 0 && <SetPrivacy populations={populations} done={data.again} />}
            </Card>
            {populations.length > 0 && <Ledger populations={populations.map((one) => one.name)} />}
            <Card title="Planner" note="Computes the noise that a budget requires, and whether the model can learn despite it.">
              <Planner />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function said(entry: LedgerEntry): string {
  const { settings, terms } = entry;
  switch (entry.kind) {
    case 'collection':
      return 'all updates charged';
    case 'task':
      return terms?.epsilon ? `task created, epsilon ${number(terms.epsilon)}` : 'task created, not private';
    case 'settings': {
      const budget = settings?.epsilon ? `budget ${number(settings.epsilon)}` : 'no budget';
      return settings?.weakened ? `weakened to ${budget}: ${settings.weakened}` : budget;
    }
    default:
      return `version ${entry.version ?? ''} released`;
  }
}

function participation(entry: LedgerEntry): string {
  const { participation } = entry;
  if (!participation) return '';
  switch (participation.kind) {
    case 'at_most':
      return `in at most ${participation.count} versions`;
    case 'poisson':
      return `drawn at rate ${number(participation.rate)}`;
    case 'whole':
      return `all versions together charged as ${participation.count}`;
  }
}

function Ledger({ populations }: { populations: string[] }) {
  const [name, setName] = useState(populations[0] ?? '');
  const [before, setBefore] = useState<number[]>([]);
  const path = `/populations/${name}/ledger?limit=${PAGE}&before=${before.at(-1) ?? 0}`;
  const data = useData(path, (signal) => get<LedgerEntry[]>(path, signal));
  const choose = (next: string) => {
    setName(next);
    setBefore([]);
  };
  return (
    <Card
      title="Ledger"
      note="All privacy spending and its limits: released versions, tasks and settings. Each entry contains the digest of the one before; folkmoot privacy verify checks the chain."
      actions={
        <label>
          Population
          <select value={name} onChange={(event) => choose(event.currentTarget.value)}>
            {populations.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      }
    >
      <Loaded data={data}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty>
              <h3>Nothing is spent</h3>
              <p>
                No task of this population promises privacy. The first task with <code>[privacy]</code> starts the ledger, and each of its
                versions adds an entry.
              </p>
            </Empty>
          ) : (
            <>
              <Table
                caption={`Ledger of ${name}, newest first`}
                rows={entries}
                keyOf={(entry) => entry.sequence}
                columns={[
                  { name: 'Entry', isNumber: true, show: (entry) => count(entry.sequence) },
                  {
                    name: 'Task',
                    show: (entry) =>
                      entry.task_id && (
                        <Link to={`/tasks/${entry.task_id}`}>
                          <Id id={entry.task_id} />
                        </Link>
                      ),
                  },
                  { name: 'Event', show: said },
                  {
                    name: 'Noise multiplier',
                    isNumber: true,
                    show: (entry) => (entry.noise_multiplier ? number(entry.noise_multiplier) : ''),
                  },
                  { name: 'Participation', show: participation },
                  { name: 'Time', show: (entry) => <Time at={entry.at} /> },
                  { name: 'Digest', show: (entry) => <Id id={entry.digest} /> },
                ]}
              />
              <div class="actions">
                <Button disabled={before.length === 0} onClick={() => setBefore((old) => old.slice(0, -1))}>
                  Newer
                </Button>
                <Button
                  disabled={(entries.at(-1)?.sequence ?? 1) <= 1}
                  onClick={() => setBefore((old) => [...old, entries.at(-1)?.sequence ?? 1])}
                >
                  Older
                </Button>
              </div>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
