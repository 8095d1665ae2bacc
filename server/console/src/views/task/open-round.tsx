import { type Awaited, isOver, type RoundFunnel, type Task } from '../../api/types';
import { Card, Elapsed, Link, Loaded, Meter, Time, Until } from '../../components';
import { count, words } from '../../format';
import type { Data } from '../../live';

const PHASES = ['selecting', 'reporting', 'aggregating', 'committed'];
const FLOW = ['collecting', 'aggregating', 'committed'];
/** The phases of a round with secure aggregation. */
const SECURE = ['selecting', 'advertising_keys', 'sharing_keys', 'reporting', 'unmasking', 'aggregating', 'committed'];

/** The open round of a task: its phase, what it waits for, and the funnel from waiting clients to accepted updates. */
export function OpenRound({ task, funnel, waiting }: { task: Task; funnel: Data<RoundFunnel | undefined>; waiting: number | undefined }) {
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
          <Loaded data={funnel}>{(value) => value && <FunnelBars funnel={value} waiting={waiting} />}</Loaded>
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

/** Names the event that ends the phase of an open round, and its time. */
function Awaits({ phase, awaited, soFar }: { phase: string; awaited: Awaited; soFar: number | undefined }) {
  const { needed, until, needed_then: then, sums_of: sums } = awaited;
  if (sums?.length && typeof until === 'number')
    return (
      <p>
        Waits for the sums of {sums.join(', ')} until <Until at={until} />.
      </p>
    );
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
