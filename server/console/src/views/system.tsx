import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { System } from '../api/types';
import { Card, Empty, Facts, Loaded, Page, Table, Time } from '../components';
import { bytes } from '../format';
import { useData, useEvery } from '../live';

const LEVELS = ['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'];
const EVERY_MILLISECONDS = 5_000;

/** How the process is, and what it said last. */
export default function SystemView() {
  const data = useData('system', (signal) => get<System>('/system', signal));
  const [least, setLeast] = useState('TRACE');
  const [text, setText] = useState('');
  useEvery(EVERY_MILLISECONDS, data);
  const passes = (line: System['log'][number]) =>
    LEVELS.indexOf(line.level) <= LEVELS.indexOf(least) &&
    `${line.target} ${line.message} ${Object.values(line.fields).join(' ')}`.toLowerCase().includes(text.toLowerCase());
  return (
    <Page title="System">
      <Loaded data={data}>
        {(system) => (
          <>
            <Card title="Health">
              {system.problems.map((problem) => (
                <p key={problem} class="error" role="alert">
                  {problem}
                </p>
              ))}
              <Facts
                facts={[
                  ['State', system.is_ready ? 'ready' : 'not ready'],
                  ['Version', system.version],
                  ['Running since', <Time at={system.started_at} />],
                  ['Database', system.database],
                  ['Memory', bytes(system.memory_bytes)],
                ]}
              />
            </Card>
            <Card title="Drivers" note="Which process drives which task. A lease that is not renewed ends, and another process takes over.">
              {system.leases.length === 0 ? (
                <Empty>
                  <p>No task is driven just now.</p>
                </Empty>
              ) : (
                <Table
                  caption="Leases"
                  rows={system.leases}
                  keyOf={(lease) => lease.name}
                  columns={[
                    { name: 'Claim', show: (lease) => <code>{lease.name}</code> },
                    { name: 'Holder', show: (lease) => <code>{lease.holder}</code> },
                    { name: 'Until', show: (lease) => <Time at={lease.held_until} /> },
                  ]}
                />
              )}
            </Card>
            <Card title="Log" note="What this process said last, newest first; at most 500 lines.">
              <form class="filters" onSubmit={(event) => event.preventDefault()}>
                <label>
                  At least
                  <select value={least} onChange={(event) => setLeast(event.currentTarget.value)}>
                    {LEVELS.map((level) => (
                      <option key={level} value={level}>
                        {level.toLowerCase()}
                      </option>
                    ))}
                  </select>
                </label>
                <label>
                  Contains
                  <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
                </label>
              </form>
              <Table
                caption="Log"
                rows={system.log.filter(passes)}
                keyOf={(line, index) => `${line.at} ${index}`}
                columns={[
                  { name: 'Time', show: (line) => <Time at={line.at} /> },
                  { name: 'Level', show: (line) => <span class={`level ${line.level.toLowerCase()}`}>{line.level.toLowerCase()}</span> },
                  {
                    name: 'Says',
                    show: (line) => (
                      <>
                        {line.message}{' '}
                        <small>
                          {Object.entries(line.fields)
                            .map(([name, value]) => `${name}=${value}`)
                            .join(' ')}
                        </small>
                      </>
                    ),
                  },
                  { name: 'Part', show: (line) => <code>{line.target}</code> },
                ]}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}
