import { useEffect, useRef, useState } from 'preact/hooks';

import { get } from '../../api/client';
import { isOver, type Round, type Task } from '../../api/types';
import { Ago, Card, Empty, Link, LongList, State } from '../../components';
import { count, words } from '../../format';
import { useDensity } from '../../theme';

const PAGE = 100;
/** The maximum number of cached pages, so that a page left open for a day does not keep all of the day's rounds. */
const PAGES_MAX = 30;

/** All rounds, newest first. Round numbers have no gaps, so a single request reaches any part of the list. */
export function Rounds({ task }: { task: Task }) {
  const total = task.rounds_opened;
  const pages = useRef(new Map<number, Round[]>());
  const [, redraw] = useState(0);
  const isCompact = useDensity() === 'compact';
  // Ended rounds do not change, so only the newest page and pages with open rounds are loaded again.
  const bring = (page: number) => {
    const below = (page + 1) * PAGE + 1;
    get<Round[]>(`/tasks/${task.id}/rounds?limit=${PAGE}&before=${below}`).then(
      (rounds) => {
        pages.current.delete(page);
        pages.current.set(page, rounds);
        const [oldest] = pages.current.keys();
        if (oldest !== undefined && pages.current.size > PAGES_MAX) pages.current.delete(oldest);
        redraw((count) => count + 1);
      },
      () => {
        // Keep loaded pages. A page that failed to load is requested again when it is next visible.
        if (pages.current.get(page)?.length === 0) pages.current.delete(page);
      },
    );
  };
  const newest = Math.max(0, Math.floor((total - 1) / PAGE));
  useEffect(() => {
    if (total > 0) bring(newest);
    for (const [page, rounds] of [...pages.current]) {
      const isComing = rounds.length === 0;
      if (page !== newest && !isComing && !(rounds.length === PAGE && rounds.every(isOver))) bring(page);
    }
  }, [task]);
  const find = (number: number): Round | undefined => {
    const page = Math.floor((number - 1) / PAGE);
    const known = pages.current.get(page);
    if (!known) {
      pages.current.set(page, []);
      bring(page);
    }
    return known?.find((round) => round.number === number);
  };
  return (
    <Card title="Rounds">
      {total === 0 ? (
        <Empty>
          <h3>No round yet</h3>
          <p>A round opens when the task is active, and starts when enough clients are waiting. Each will have a line here.</p>
        </Empty>
      ) : (
        <LongList
          caption="Rounds, newest first"
          total={total}
          height={isCompact ? 32 : 40}
          head={
            <div class="row rounds-row" role="row">
              {['Round', 'Purpose', 'Phase', 'Cohort', 'Accepted', 'Version', 'Opened'].map((name) => (
                <span key={name} role="columnheader">
                  {name}
                </span>
              ))}
            </div>
          }
          row={(index) => <Row key={total - index} number={total - index} round={find(total - index)} index={index} />}
        />
      )}
    </Card>
  );
}

function Row({ number, round, index }: { number: number; round: Round | undefined; index: number }) {
  const shown = (value: number | null | undefined) => (value === null || value === undefined ? '–' : count(value));
  return (
    <div class="row rounds-row" role="row" aria-rowindex={index + 2}>
      <span role="cell">{round ? <Link to={`/rounds/${round.id}`}>{number}</Link> : number}</span>
      <span role="cell">{round?.purpose ?? '…'}</span>
      <span role="cell">
        {round && (
          <>
            <State state={round.phase} />
            {round.reason && <small> {words(String(round.reason))}</small>}
          </>
        )}
      </span>
      <span role="cell">{shown(round?.cohort)}</span>
      <span role="cell">{shown(round?.accepted)}</span>
      <span role="cell">{shown(round?.version)}</span>
      <span role="cell">{round && <Ago at={round.created_at} />}</span>
    </div>
  );
}
