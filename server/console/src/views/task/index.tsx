import { useEffect } from 'preact/hooks';

import { get, send } from '../../api/client';
import { type Awaited, isOver, type Overview, type RoundFunnel, type Task } from '../../api/types';
import { Action, Card, Elapsed, Facts, Id, Link, Loaded, Meter, Notes, Page, State, Time, Until } from '../../components';
import { count, words } from '../../format';
import { CLIENTS_MILLISECONDS, useData, useEvery } from '../../live';
import { go } from '../../router';
import { may } from '../../session';
import { Curves } from './curves';
import { Privacy } from './privacy';
import { Rounds } from './rounds';
import { Traffic } from './traffic';
import { Versions } from './versions';

/** One task: its state, its progress, and actions on it. */
export default function TaskView({ parameters: [called = ''] }: { parameters: string[] }) {
  const data = useData(`task ${called}`, (signal) => get<Task>(`/tasks/${encodeURIComponent(called)}`, signal), called);
  const task = data.data;
  const id = task?.id;
  useEffect(() => {
    // The address may have the task's name or the beginning of its id; changes are announced with the id.
    if (id && id !== called) go(`/tasks/${id}`, true);
  }, [id, called]);
  return (
    <Page title={task ? String(task.description['name']) : 'Task'} actions={task && <Actions task={task} done={data.again} />}>
      <Loaded data={data}>
        {(task) => (
          <>
            <Standing task={task} />
            <div class="columns">
              <Open task={task} />
              <Privacy task={task} />
            </div>
            <Curves task={task} />
            <Versions task={task} changed={data.again} />
            <Traffic task={task} />
            <Rounds task={task} />
            <Card title="Settings">
              <Notes notes={task.notes} />
              <details>
                <summary>Show the complete description</summary>
                <pre tabIndex={0}>{JSON.stringify(task.description, null, 2)}</pre>
              </details>
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Actions({ task, done }: { task: Task; done: () => void }) {
  if (!may('operator')) return null;
  const change = (verb: string) => () => send('POST', `/tasks/${task.id}/${verb}`);
  const cancel = {
    title: 'Cancel this task permanently?',
    text: `The task cannot be started again. Its open round is abandoned, and the current work of its clients is lost. Its ${task.latest_version + 1} model versions stay.`,
    word: 'Cancel the task',
  };
  const pause = {
    title: 'Pause this task?',
    text: 'Its open round is abandoned, and the current work of its clients is lost. No version is lost, and you can resume the task.',
    word: 'Pause the task',
  };
  return (
    <>
      {task.state === 'draft' && (
        <Action kind="primary" act={change('activate')} done={done}>
          Start
        </Action>
      )}
      {task.state === 'active' && (
        <Action act={change('pause')} done={done} confirm={pause}>
          Pause
        </Action>
      )}
      {task.state === 'paused' && (
        <Action kind="primary" act={change('resume')} done={done}>
          Resume
        </Action>
      )}
      {['draft', 'active', 'paused'].includes(task.state) && (
        <Action kind="danger" act={change('cancel')} done={done} confirm={cancel}>
          Cancel
        </Action>
      )}
    </>
  );
}

function Standing({ task }: { task: Task }) {
  const stop = task.description['stop'] as { rounds?: number } | undefined;
  return (
    <Card title="Status">
      <Facts
        facts={[
          [
            'State',
            <>
              <State state={task.state} />
              {task.stop_reason && ` ${words(String(task.stop_reason))}`}
            </>,
          ],
          ['Population', <Link to={`/clients/${String(task.description['population'])}`}>{String(task.description['population'])}</Link>],
          ['Rounds committed', stop?.rounds ? `${count(task.rounds_committed)} of ${count(stop.rounds)}` : count(task.rounds_committed)],
          ['Rounds opened', count(task.rounds_opened)],
          ['Newest version', count(task.latest_version)],
          [
            'Model',
            <Link to={`/models/${task.model}`}>
              <Id id={task.model} />
            </Link>,
          ],
          ['Parameters', count(task.parameter_count)],
          ['Created', <Time at={task.created_at} />],
          ['Id', <code>{task.id}</code>],
        ]}
      />
      {task.pause && (
        <div class="note" role="status">
          <p>
            Paused by the coordinator: {task.pause.reason} (<code>{task.pause.code}</code>).
          </p>
          <p>{task.pause.remedy}</p>
        </div>
      )}
      {task.state === 'active' && !task.open_round && task.rounds_opened === 0 && (
        <p class="note">
          The task is waiting for clients. <Link to="/access">Create an enrolment token</Link> and give it to them.
        </p>
      )}
    </Card>
  );
}

const PHASES = ['selecting', 'reporting', 'aggregating', 'committed'];
const FLOW = ['collecting', 'aggregating', 'committed'];
/** The phases of a round with secure aggregation. */
const SECURE = ['selecting', 'advertising_keys', 'sharing_keys', 'reporting', 'unmasking', 'aggregating', 'committed'];

function Open({ task }: { task: Task }) {
  const open = task.open_round;
  return (
    <Card title="Open round">
      {open ? (
        <>
          <Timeline
            phase={open.round.phase}
            since={open.round.phase_since}
            isMasked={open.round.purpose === 'training' && isMasked(task)}
          />
          <Funnel task={task} id={open.round.id} />
          <p>
            <Link to={`/rounds/${open.round.id}`}>Details of round {open.round.number}</Link>
          </p>
        </>
      ) : (
        <p class="note">No round is open{task.state === 'active' ? ' right now.' : `: the task is ${task.state}.`}</p>
      )}
    </Card>
  );
}

/** Returns whether the clients of a task mask their updates. */
function isMasked(task: Task): boolean {
  const protection = task.description['protection'];
  return typeof protection === 'object' && protection !== null && 'secure_aggregation' in protection;
}

export function Timeline({ phase, since, isMasked }: { phase: string; since: number; isMasked?: boolean }) {
  const phases =
    phase === 'collecting'
      ? FLOW
      : phase !== 'abandoned' && (isMasked || !PHASES.includes(phase)) && SECURE.includes(phase)
        ? SECURE
        : phase === 'abandoned'
          ? ['abandoned']
          : phase === 'evaluated'
            ? ['selecting', 'reporting', 'aggregating', 'evaluated']
            : PHASES;
  const place = phases.indexOf(phase);
  return (
    <>
      <ol class="timeline" aria-label="Phases of the round">
        {phases.map((one, index) => (
          <li
            key={one}
            class={index < place ? 'past' : index === place ? 'now' : ''}
            {...(index === place ? { 'aria-current': 'step' as const } : {})}
          >
            {words(one)}
          </li>
        ))}
      </ol>
      <p class="note">
        {isOver({ phase }) ? (
          <>
            {words(phase)} <Time at={since} />
          </>
        ) : (
          <>
            {words(phase)} for <Elapsed since={since} />
          </>
        )}
      </p>
    </>
  );
}

function Funnel({ task, id }: { task: Task; id: string }) {
  const population = String(task.description['population']);
  const overview = useData('overview', (signal) => get<Overview>('/overview', signal), task.id);
  const funnel = useData(`funnel ${id}`, (signal) => get<RoundFunnel>(`/rounds/${id}`, signal), task.id);
  useEvery(CLIENTS_MILLISECONDS, overview);
  const waiting = overview.data?.populations.find((one) => one.name === population)?.waiting ?? undefined;
  return <Loaded data={funnel}>{(value) => <FunnelBars funnel={value} waiting={waiting} />}</Loaded>;
}

/** Meters from the waiting clients down to the accepted updates. */
export function FunnelBars({ funnel, waiting }: { funnel: RoundFunnel; waiting?: number | undefined }) {
  const { cohort, outstanding, accepted } = funnel;
  const { phase } = funnel.round;
  const soFar = phase === 'selecting' ? waiting : (accepted ?? undefined);
  const awaits = funnel.awaited && <Awaits phase={phase} awaited={funnel.awaited} soFar={soFar} />;
  if (typeof cohort !== 'number' || typeof outstanding !== 'number' || typeof accepted !== 'number') {
    return (
      <>
        {awaits}
        <p class="note">The counts of drawn and reporting clients are hidden: privacy depends on nobody knowing who was drawn.</p>
      </>
    );
  }
  const most = Math.max(waiting ?? 0, cohort, 1);
  const dropped = funnel.dropped.reduce((all, one) => all + one.count, 0);
  return (
    <div class="funnel">
      {awaits}
      {waiting !== undefined && <Meter label="Waiting" value={waiting} max={most} text={count(waiting)} />}
      <Meter label="Drawn" value={cohort} max={most} text={count(cohort)} />
      <Meter label="Outstanding" value={outstanding} max={most} text={count(outstanding)} />
      <Meter label="Accepted" value={accepted} max={most} text={count(accepted)} />
      <Meter label="Dropped" value={dropped} max={most} text={count(dropped)} isBad />
      {funnel.dropped.length > 0 && (
        <ul class="note">
          {funnel.dropped.map((one) => (
            <li key={`${one.kind} ${one.reason}`}>
              {count(one.count)} {words(one.kind)}
              {one.reason ? `: ${words(one.reason)}` : ''}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Says what ends the phase of an open round, and when. */
function Awaits({ phase, awaited, soFar }: { phase: string; awaited: Awaited; soFar: number | undefined }) {
  const { needed, until, needed_then: then } = awaited;
  const counted = (value: number) => {
    const thing = phase === 'selecting' ? 'client' : 'update';
    return `${count(value)} ${thing}${value === 1 ? '' : 's'}`;
  };
  if (typeof needed !== 'number') {
    if (typeof until !== 'number') return null;
    return (
      <p>
        Waits until <Until at={until} />
        {typeof then === 'number' && `, with at least ${counted(then)}`}.
      </p>
    );
  }
  const isEnoughThen = typeof then === 'number' && then < needed;
  return (
    <p>
      Waits for {counted(needed)}
      {soFar !== undefined && ` (${count(soFar)} so far)`}
      {typeof until === 'number' && (
        <>
          {isEnoughThen ? '. From ' : ' until '}
          <Until at={until} />
          {isEnoughThen && ` on, ${count(then)} ${then === 1 ? 'is' : 'are'} enough`}
        </>
      )}
      .
    </p>
  );
}
