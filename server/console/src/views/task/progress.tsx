import { Meter, Time } from '../../components';
import { count, duration, soon } from '../../format';
import type { Facts } from '../../insight/facts';
import { projected, roundsWanted, versionsLeft } from '../../insight/projection';

/** The task's progress to its last round, and an estimate of when it ends. */
export function Progress({ facts: { task, series, statement, funnel, now } }: { facts: Facts }) {
  const wanted = roundsWanted(task);
  if (!wanted) return null;
  const done = task.rounds_committed;
  const isWaiting = funnel?.round.phase === 'selecting';
  const end = task.state === 'active' && series ? projected(series.points, done, wanted, now) : undefined;
  const left = statement ? versionsLeft(statement) : undefined;
  const isBudgetFirst = left !== undefined && left < wanted - done;
  return (
    <div class="progress">
      <Meter label="Rounds" value={done} max={wanted} text={`${count(done)} of ${count(wanted)}`} />
      {end && (
        <p class="note">
          Estimate: ends in about {duration(Math.max(0, end.at - now))}, at <Time at={end.at} show={(at) => soon(at, now)} />.{' '}
          {count(end.left)} rounds to go at {duration(end.each)} each, the median of the last {count(end.from)}.
          {isWaiting && ' The time until enough clients are there is not in it.'}
        </p>
      )}
      {task.state === 'active' && isBudgetFirst && (
        <p class="note">Estimate: the privacy budget ends the task first, after about {count(left)} more versions at the earliest.</p>
      )}
    </div>
  );
}

/** The end of the task in a few words, for a card: `about 14 min left`. */
export function Left({ facts: { task, series, now } }: { facts: Facts }) {
  const wanted = roundsWanted(task);
  const end = wanted && series ? projected(series.points, task.rounds_committed, wanted, now) : undefined;
  if (task.state !== 'active' || !end) return null;
  return <>about {duration(Math.max(0, end.at - now))} left</>;
}
