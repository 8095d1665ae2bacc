import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { get } from '../api/client';
import { type CommitScores, isOver, type Lane, type RoundAssignments, type RoundFunnel } from '../api/types';
import { Card, Empty, Facts, Link, Loaded, Page, State, Table, Time } from '../components';
import { bytes, count, duration, words } from '../format';
import { NEVER, useData, useNow } from '../live';
import { FunnelBars, Timeline } from './task/open-round';

/** One round and its assignments over time. Only the scores name clients, and only for admins. */
export default function RoundView({ parameters: [called = ''] }: { parameters: string[] }) {
  const id = encodeURIComponent(called);
  const funnel = useData(`funnel ${id}`, (signal) => get<RoundFunnel>(`/rounds/${id}`, signal));
  const round = funnel.data?.round;
  const changes = round && isOver(round) ? NEVER : round?.task_id;
  const lanes = useData(`lanes ${id}`, (signal) => get<RoundAssignments>(`/rounds/${id}/assignments`, signal), changes);
  return (
    <Page title={funnel.data ? `Round ${funnel.data.round.number}` : 'Round'}>
      <Loaded data={funnel}>
        {(value) => (
          <div class="columns">
            <Card title="Outcome">
              <Timeline phase={value.round.phase} since={value.round.phase_since} />
              <Facts
                facts={[
                  ['Task', <Link to={`/tasks/${value.round.task_id}`}>{value.round.task_id.slice(0, 8)}…</Link>],
                  ['Purpose', value.round.purpose],
                  ['Phase', <State state={value.round.phase} />],
                  ...(typeof value.round.asked_at === 'number'
                    ? [['Stragglers asked', <Time at={value.round.asked_at} />] as [string, ComponentChildren]]
                    : []),
                  ['Starts from version', count(value.round.base_version)],
                  ['Released version', value.round.version ? count(value.round.version) : '–'],
                  ...(value.round.reason ? [['Abandoned because', words(String(value.round.reason))] as [string, string]] : []),
                  ['Opened', <Time at={value.round.created_at} />],
                ]}
              />
            </Card>
            <Card title="Cohort">
              <FunnelBars funnel={value} />
            </Card>
          </div>
        )}
      </Loaded>
      <Card
        title="Timeline"
        note="One bar for each assignment, from its start until its update was accepted or it was dropped. The solid part is training time, as reported by the client."
      >
        <Loaded data={lanes}>
          {(value) =>
            value.lanes.length === 0 ? (
              <Empty>
                <p>
                  {typeof value.left_out === 'number'
                    ? 'No client was drawn yet.'
                    : 'Hidden: the task’s privacy depends on nobody knowing who was drawn.'}
                </p>
              </Empty>
            ) : value.withheld ? (
              <p class="note">{value.withheld}</p>
            ) : (
              <Waterfall assignments={value} />
            )
          }
        </Loaded>
      </Card>
      {lanes.data?.scores && <Scores scores={lanes.data.scores} />}
    </Page>
  );
}

/** The updates of the round's version, the most unusual first. */
function Scores({ scores }: { scores: CommitScores }) {
  return (
    <Card
      title="Unusual updates"
      note="Each update is compared with the others of the version: its length with the median length, and its direction with the direction of the aggregate. A score above 3.5 is unusual. It is no proof of an attack: a client with rare data can be unusual, too. Look at a client whose updates are unusual in many rounds."
    >
      <p>
        {scores.unusual === 0 ? 'No update is unusual' : `${count(scores.unusual)} unusual`} among {count(scores.updates)}.
      </p>
      <Table
        caption="Updates by score"
        rows={scores.most_unusual}
        keyOf={(_, index) => index}
        columns={[
          { name: 'Score', show: (row) => row.score.toFixed(1), isNumber: true },
          { name: 'Length', show: (row) => `${row.norm_ratio.toFixed(2)} ×`, isNumber: true },
          { name: 'Cosine', show: (row) => row.cosine.toFixed(2), isNumber: true },
          { name: 'Why', show: (row) => row.explanation },
          { name: 'Client', show: (row) => (row.client_id ? <code>{row.client_id}</code> : '–') },
        ]}
      />
      {scores.most_unusual.some((score) => !score.client_id) && <p class="note">Only admins see the clients of updates.</p>}
    </Card>
  );
}

function Waterfall({ assignments: { lanes, left_out } }: { assignments: RoundAssignments }) {
  const start = Math.min(...lanes.map((lane) => lane.assigned_at));
  const now = useNow(lanes.every((lane) => lane.closed_at));
  const end = Math.max(...lanes.map((lane) => lane.closed_at ?? Math.min(now, lane.deadline)), start + 1);
  return (
    <>
      <div class="waterfall" role="list" aria-label="Assignments in the order they were given">
        <div class="scale" aria-hidden="true">
          <span>0</span>
          <span>{duration((end - start) / 2)}</span>
          <span>{duration(end - start)}</span>
        </div>
        {lanes.map((lane, index) => (
          <Bar key={index} lane={lane} number={index + 1} start={start} end={end} now={now} />
        ))}
      </div>
      <p class="note">The round waited at most {duration(Math.max(...lanes.map((lane) => lane.deadline)) - start)} for updates.</p>
      {typeof left_out === 'number' && left_out > 0 && <p class="note">{count(left_out)} more assignments are not shown.</p>}
    </>
  );
}

function Bar({ lane, number, start, end, now }: { lane: Lane; number: number; start: number; end: number; now: number }) {
  const bar = useRef<HTMLDivElement>(null);
  const training = useRef<HTMLDivElement>(null);
  const closed = lane.closed_at ?? Math.min(now, lane.deadline);
  const span = end - start;
  useEffect(() => {
    if (bar.current) {
      bar.current.style.left = `${(100 * (lane.assigned_at - start)) / span}%`;
      bar.current.style.width = `${Math.max((100 * (closed - lane.assigned_at)) / span, 0.5)}%`;
    }
    const length = closed - lane.assigned_at;
    if (training.current)
      training.current.style.width = lane.training_ms && length > 0 ? `${Math.min((100 * lane.training_ms) / length, 100)}%` : '0';
  });
  const parts = [
    `Assignment ${number}: ${words(lane.status)}`,
    lane.kind ? words(lane.kind) : '',
    lane.reason ? words(lane.reason) : '',
    `${duration(closed - lane.assigned_at)} in all`,
    lane.training_ms ? `${duration(lane.training_ms)} training` : '',
    lane.download_bytes === null || lane.download_bytes === undefined ? '' : `${bytes(lane.download_bytes)} fetched`,
    lane.upload_bytes ? `${bytes(lane.upload_bytes)} sent` : '',
  ];
  const said = parts.filter(Boolean).join(', ');
  return (
    <div class="lane" role="listitem" aria-label={said} title={said}>
      <div class={`lane-bar ${lane.status}`} ref={bar}>
        <div class="lane-training" ref={training} />
      </div>
    </div>
  );
}
