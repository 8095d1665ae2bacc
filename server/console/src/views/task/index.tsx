import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

import { get, send } from '../../api/client';
import type { Task } from '../../api/types';
import { Action, Ago, Card, Facts, Id, Link, Loaded, Notes, Page, State } from '../../components';
import { Questions, StatusLine } from '../../components/answer';
import { count, words } from '../../format';
import type { Facts as TaskFacts } from '../../insight/facts';
import { roundsWanted } from '../../insight/projection';
import { standing } from '../../insight/standing';
import { useFacts, useOverview } from '../../insight/use-facts';
import { useData, useNow } from '../../live';
import { go } from '../../router';
import { may } from '../../session';
import { Curves } from './curves';
import { OpenRound } from './open-round';
import { Privacy } from './privacy';
import { Progress } from './progress';
import { Rounds } from './rounds';
import { Traffic } from './traffic';
import { Versions } from './versions';

/** The number of versions in the charts. */
const POINTS = 600;

/** One task: the answers to an operator's questions, its progress, and actions on it. */
export default function TaskView({ parameters: [called = ''] }: { parameters: string[] }) {
  const data = useData(`task ${called}`, (signal) => get<Task>(`/tasks/${encodeURIComponent(called)}`, signal), called);
  const task = data.data;
  const id = task?.id;
  useEffect(() => {
    // The address may have the task's name or the beginning of its id; changes are announced with the id.
    if (id && id !== called) go(`/tasks/${id}`, true);
  }, [id, called]);
  return (
    <Page
      title={task ? String(task.description['name']) : 'Task'}
      beside={task && <State state={task.state} />}
      actions={task && <Actions task={task} done={data.again} />}
    >
      <Loaded data={data}>{(task) => <Whole task={task} changed={data.again} />}</Loaded>
    </Page>
  );
}

function Whole({ task, changed }: { task: Task; changed: () => void }) {
  const overview = useOverview(task.id);
  const { facts, series, funnel, statement } = useFacts(task, overview.data, POINTS);
  return (
    <>
      <Status facts={facts} />
      <Curves
        task={task}
        data={series}
        aside={
          <>
            <OpenRound task={task} funnel={funnel} waiting={facts.population?.waiting ?? undefined} />
            <Privacy task={task} data={statement} />
          </>
        }
      />
      <Versions task={task} changed={changed} />
      <Rounds task={task} />
      <Traffic task={task} />
      <About task={task} />
      <Card title="Settings">
        <Notes notes={task.notes} />
        <details>
          <summary>Show the complete description</summary>
          <pre tabIndex={0}>{JSON.stringify(task.description, null, 2)}</pre>
        </details>
      </Card>
    </>
  );
}

/** The answers to the operator's questions. Only this card ticks: to draw the charts every second would be a waste. */
function Status({ facts: loaded }: { facts: Omit<TaskFacts, 'now'> }) {
  const facts = { ...loaded, now: useNow(loaded.task.state !== 'active') };
  const answers = standing(facts);
  return (
    <Card title="Status">
      <StatusLine answer={answers.line} />
      <Questions standing={answers} />
      <Progress facts={facts} />
    </Card>
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

function About({ task }: { task: Task }) {
  const wanted = roundsWanted(task);
  const facts: [string, ComponentChildren][] = [
    [
      'State',
      <>
        <State state={task.state} />
        {task.stop_reason && ` ${words(String(task.stop_reason))}`}
        {task.pause && (
          <>
            {' '}
            <code>{task.pause.code}</code>
          </>
        )}
      </>,
    ],
    ['Population', <Link to={`/clients/${String(task.description['population'])}`}>{String(task.description['population'])}</Link>],
    ['Rounds committed', wanted ? `${count(task.rounds_committed)} of ${count(wanted)}` : count(task.rounds_committed)],
    ['Rounds opened', count(task.rounds_opened)],
    ['Newest version', count(task.latest_version)],
    [
      'Model',
      <Link to={`/models/${task.model}`}>
        <Id id={task.model} />
      </Link>,
    ],
    ['Parameters', count(task.parameter_count)],
    ['Created', <Ago at={task.created_at} />],
    ['Id', <code>{task.id}</code>],
  ];
  return (
    <Card title="About this task">
      <Facts facts={facts} />
    </Card>
  );
}
