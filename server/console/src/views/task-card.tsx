import { useEffect } from 'preact/hooks';

import { get } from '../api/client';
import type { Overview, Task } from '../api/types';
import { Sparkline } from '../charts/sparkline';
import { Link, Loaded, Meter } from '../components';
import { StatusLine } from '../components/answer';
import { count, measure } from '../format';
import type { Tone } from '../insight/facts';
import { headline, measuredOn, metricName } from '../insight/learning';
import { roundsWanted } from '../insight/projection';
import { standing } from '../insight/standing';
import { useFacts } from '../insight/use-facts';
import { useData, useNow } from '../live';
import { Left } from './task/progress';

/** The number of versions in the small curve of a card. */
const POINTS = 60;

type Props = { id: string; overview: Overview; report: (id: string, tone: Tone) => void };

/** One task at a glance: its status line, its curve, and how far it is. */
export function TaskCard(props: Props) {
  const data = useData(`task ${props.id}`, (signal) => get<Task>(`/tasks/${props.id}`, signal), props.id);
  return <Loaded data={data}>{(task) => <Whole {...props} task={task} />}</Loaded>;
}

function Whole({ id, overview, report, task }: Props & { task: Task }) {
  const loaded = useFacts(task, overview, POINTS, true);
  const facts = { ...loaded.facts, now: useNow(task.state !== 'active') };
  const { line } = standing(facts);
  const curve = facts.series && headline(facts.series);
  const last = curve?.points.at(-1);
  const wanted = roundsWanted(task);
  useEffect(() => report(id, line.tone), [id, line.tone]);
  return (
    <article class={`task-card ${line.tone}`}>
      <header>
        <h3>
          <Link to={`/tasks/${id}`}>{String(task.description['name'])}</Link>
        </h3>
        <span class="hint">{String(task.description['population'])}</span>
      </header>
      <StatusLine answer={line} />
      <div class="task-card-curve">
        {curve && last ? (
          <>
            <Sparkline
              values={curve.points.map((point) => point.value)}
              label={`${metricName(curve.metric)} over ${count(curve.points.length)} versions`}
            />
            <span>
              <b>{measure(curve.metric, last.value)}</b>
              <span class="hint">
                {metricName(curve.metric)} {measuredOn(curve.source)}
              </span>
            </span>
          </>
        ) : (
          <span class="hint">No metric yet</span>
        )}
      </div>
      {wanted ? (
        <Meter label="Rounds" value={task.rounds_committed} max={wanted} text={`${count(task.rounds_committed)} of ${count(wanted)}`} />
      ) : (
        <p class="hint">{count(task.rounds_committed)} rounds committed</p>
      )}
      <p class="hint">
        <Left facts={facts} />
      </p>
    </article>
  );
}
