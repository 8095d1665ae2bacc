import { useState } from 'preact/hooks';

import { get } from '../api/client';
import type { System } from '../api/types';
import { Ago, Card, Empty, Facts, Loaded, Page, Table, Time } from '../components';
import { bytes } from '../format';
import { useData, useEvery } from '../live';

const LEVELS = ['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'];
const EVERY_MILLISECONDS = 5_000;

/** The state of the process, and its recent log. */
export default function SystemView() {
  const data = useData('system', (signal) => get<System>('/system', signal));
  useEvery(EVERY_MILLISECONDS, data);
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
                  ['Running since', <Ago at={system.started_at} />],
                  ['Database', system.database],
                  ['Memory', bytes(system.memory_bytes)],
                ]}
              />
            </Card>
            {system.notifications.length > 0 && <Channels channels={system.notifications} />}
            {system.withheld ? <p class="note">{system.withheld}</p> : <Inside system={system} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The channels for notices, with the deliveries of this process. */
function Channels({ channels }: { channels: System['notifications'] }) {
  return (
    <Card
      title="Notifications"
      note="The channels for notices: a task was paused, has finished or stands still, or a budget is nearly spent."
    >
      {channels.map(
        ({ name, error }) =>
          error && (
            <p key={name} class="error">
              {name}: {error}
            </p>
          ),
      )}
      <Table
        caption="Channels"
        rows={channels}
        keyOf={(channel) => channel.name}
        columns={[
          { name: 'Channel', show: (channel) => channel.name },
          { name: 'Kind', show: (channel) => channel.kind },
          { name: 'Last delivery', show: (channel) => (channel.delivered_at ? <Ago at={channel.delivered_at} /> : 'none yet') },
          { name: 'Waiting', show: (channel) => channel.waiting },
          { name: 'State', show: (channel) => (channel.error ? 'failed' : 'ok') },
        ]}
      />
    </Card>
  );
}

/** The leases and the log, which name the tasks and clients of the only organisation. */
function Inside({ system }: { system: System }) {
  const [least, setLeast] = useState('TRACE');
  const [text, setText] = useState('');
  const passes = (line: System['log'][number]) =>
    LEVELS.indexOf(line.level) <= LEVELS.indexOf(least) &&
    `${line.target} ${line.message} ${Object.values(line.fields).join(' ')}`.toLowerCase().includes(text.toLowerCase());
  return (
    <>
      <Card
        title="Drivers"
        note="Which process drives which task, and which one delivers notices. If a process stops renewing its lease, another takes over."
      >
        {system.leases.length === 0 ? (
          <Empty>
            <p>No task is being driven right now.</p>
          </Empty>
        ) : (
          <Table
            caption="Leases"
            rows={system.leases}
            keyOf={(lease) => lease.name}
            columns={[
              { name: 'Lease', show: (lease) => <code>{lease.name}</code> },
              { name: 'Holder', show: (lease) => <code>{lease.holder}</code> },
              { name: 'Until', show: (lease) => <Ago at={lease.held_until} /> },
            ]}
          />
        )}
      </Card>
      <Card title="Log" note="The most recent log lines of this process, newest first; at most 500.">
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
              name: 'Message',
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
            { name: 'Module', show: (line) => <code>{line.target}</code> },
          ]}
        />
      </Card>
    </>
  );
}
