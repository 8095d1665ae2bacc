import { useEffect, useState } from 'preact/hooks';

import { get, send } from '../../api/client';
import type { CheckTask, Fault, ModelGraph, ModelSummary, Task } from '../../api/types';
import { Action, Button, Card, Empty, ErrorNote, Field, Loaded, Notes, Page } from '../../components';
import { count } from '../../format';
import { NEVER, useData } from '../../live';
import { go } from '../../router';
import { may } from '../../session';
import { Bring, ModelFacts } from '../models';
import { Planner } from '../planner';
import { Fields } from './form';
import { Guide } from './guide';
import { Material } from './material';
import type { Description } from './questions';
import { task as schema } from './schema';

const WAIT_MILLISECONDS = 300;

/** The initial description of a new task: federated averaging of a classifier. */
const BEGINNING: Description = {
  name: 'my task',
  population: 'my-app',
  plan: { loss: 'softmax_cross_entropy', epochs: 1, batch_size: 16, optimizer: { sgd: { learning_rate: 0.1 } } },
  scheduling: { kind: 'synchronous', report_goal: 10 },
  stop: { rounds: 100 },
};

/** A task that was edited but not created. It survives the end of a session, but lives only in the page's memory. */
type Draft = { model: string; description: Description; toml: string | undefined };
let draft: Draft | undefined;

function keep(next: Draft | undefined): void {
  draft = next;
}

/** The form for a new task: first the model, then its training. All faults are shown at once, each at its field. */
export default function CreateView() {
  const [model, setModel] = useState(new URLSearchParams(location.search).get('model') ?? draft?.model ?? '');
  if (!may('operator'))
    return (
      <Page title="Create a task">
        <Empty>
          <p>Creating a task requires an operator's API key.</p>
        </Empty>
      </Page>
    );
  return (
    <Page title="Create a task">
      <ChooseModel model={model} choose={setModel} />
      {model && (
        <>
          <ModelFacts digest={model} />
          <Describe model={model} />
        </>
      )}
    </Page>
  );
}

function ChooseModel({ model, choose }: { model: string; choose: (model: string) => void }) {
  const data = useData('models', (signal) => get<ModelSummary[]>('/models', signal));
  return (
    <Card title="1. The model">
      <Material />
      <Bring
        done={(brought) => {
          data.again();
          choose(brought.model);
        }}
      />
      <Loaded data={data}>
        {(models) =>
          models.length > 0 && (
            <Field label="Or a model that was uploaded before">
              {(field) => (
                <select {...field} value={model} onChange={(event) => choose(event.currentTarget.value)}>
                  <option value="">choose</option>
                  {models.map((one) => (
                    <option key={one.model} value={one.model}>
                      {`${one.name ?? `${one.model.slice(0, 12)}…`}: ${count(one.parameter_count)} parameters`}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )
        }
      </Loaded>
    </Card>
  );
}

function Describe({ model }: { model: string }) {
  const kept = draft?.model === model ? draft : undefined;
  const [description, setDescription] = useState<Description>(kept?.description ?? BEGINNING);
  const [toml, setToml] = useState<string | undefined>(kept?.toml);
  const [checked, setChecked] = useState<CheckTask>();
  const [error, setError] = useState<Error>();
  const [isStarted, setStarted] = useState(true);
  const check = () =>
    send<CheckTask>('POST', '/tasks/check', { ...(toml === undefined ? { description } : { toml }), model, activate: isStarted });
  useEffect(() => {
    keep({ model, description, toml });
    let isOver = false;
    const timer = setTimeout(() => {
      check().then(
        (answer) => {
          if (isOver) return;
          setChecked(answer);
          setError(undefined);
        },
        (caught: Error) => {
          if (isOver) return;
          setChecked(undefined);
          setError(caught);
        },
      );
    }, WAIT_MILLISECONDS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [description, toml, model, isStarted]);
  const faults = checked?.faults ?? [];
  const [isWhole, setWhole] = useState(false);
  // A fault stands at its field, which must be visible then. The form stays open after the fault is gone.
  useEffect(() => (faults.length > 0 ? setWhole(true) : undefined), [faults.length > 0]);
  // The last check may be older than the input on the screen. Therefore check again before creating the task, and
  // before switching between form and file.
  const checkNow = async () => {
    const answer = await check();
    setChecked(answer);
    setError(undefined);
    return answer;
  };
  const create = async () => {
    const { faults, description: right } = await checkNow();
    if (faults.length > 0 || !right) throw new Error('The task was not created. Fix the listed problems first.');
    const made = await send<Task>('POST', '/tasks', { description: right, model, activate: isStarted });
    keep(undefined);
    go(`/tasks/${made.id}`);
  };
  const reset = () => {
    setDescription(BEGINNING);
    setToml(undefined);
  };
  const asToml = async () => setToml((await checkNow()).toml ?? '');
  const asForm = async () => {
    const { description: read } = await checkNow();
    if (!read) throw new Error('The form cannot show this file. Fix the listed problems first.');
    setDescription(read as Description);
    setToml(undefined);
  };
  return (
    <>
      {toml === undefined && <Guide model={model} task={description} change={setDescription} />}
      <Card
        title={toml === undefined ? 'Every key' : '2. The task'}
        actions={
          <>
            {description !== BEGINNING && <Button onClick={reset}>Reset</Button>}
            {toml === undefined ? (
              <Action key="toml" act={asToml}>
                Edit as TOML
              </Action>
            ) : (
              <Action key="form" act={asForm}>
                Back to the form
              </Action>
            )}
          </>
        }
      >
        {toml === undefined ? (
          <details class="every-key" open={isWhole} onToggle={(event) => setWhole(event.currentTarget.open)}>
            <summary>Show every key of the task file</summary>
            <form class="settings" onSubmit={(event) => event.preventDefault()}>
              <Fields path="" schema={schema} value={description} change={(next) => setDescription(next as Description)} faults={faults} />
            </form>
          </details>
        ) : (
          <Field label="Task file">
            {(field) => (
              <textarea
                {...field}
                class="code"
                rows={24}
                spellcheck={false}
                value={toml}
                onInput={(event) => setToml(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
      </Card>
      <Private description={description} model={model} />
      <Card title="3. Check and create">
        {error && <ErrorNote error={error} />}
        {!error && <Faults faults={faults} isChecked={checked !== undefined} />}
        <Notes notes={checked?.notes} />
        <label class="check">
          <input type="checkbox" checked={isStarted} onChange={(event) => setStarted(event.currentTarget.checked)} /> Start it immediately
        </label>
        <Action kind="primary" act={create}>
          Create the task
        </Action>
        {checked && toml === undefined && (
          <details open>
            <summary>The same as a task file and a command</summary>
            <pre tabIndex={0} class="toml">
              {checked.toml}
            </pre>
            <pre tabIndex={0} class="command">
              {checked.command}
            </pre>
          </details>
        )}
      </Card>
    </>
  );
}

function Faults({ faults, isChecked }: { faults: Fault[]; isChecked: boolean }) {
  if (!isChecked)
    return (
      <p class="note" role="status">
        Checking…
      </p>
    );
  if (faults.length === 0)
    return (
      <p class="good" role="status">
        No problems found.
      </p>
    );
  return (
    <div class="error" role="status">
      <p>{faults.length === 1 ? '1 problem found:' : `${faults.length} problems found:`}</p>
      <ul>
        {faults.map((fault, index) => (
          <li key={index}>
            {fault.field && <code>{fault.field}</code>} {fault.message}; {fault.remedy}.{fault.line ? ` (line ${fault.line})` : ''}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The privacy planner with the task's own numbers, if the task uses central privacy. */
function Private({ description, model }: { description: Description; model: string }) {
  const privacy = description['privacy'] as { kind?: string; epsilon?: number; delta?: number } | undefined;
  const graph = useData(`graph ${model}`, (signal) => get<ModelGraph>(`/models/${model}/graph`, signal), NEVER);
  if (privacy?.kind !== 'central' || !graph.data) return null;
  const scheduling = description['scheduling'] as { report_goal?: number } | undefined;
  const stop = description['stop'] as { rounds?: number } | undefined;
  const start: Record<string, string> = { parameters: String(graph.data.parameter_count), participations: '' };
  const put = (name: string, value: unknown) => {
    if (typeof value === 'number') start[name] = String(value);
  };
  put('report_goal', scheduling?.report_goal);
  put('rounds', stop?.rounds);
  put('epsilon', privacy.epsilon);
  put('delta', privacy.delta);
  return (
    <Card title="The cost of privacy" note="Enter the number of clients. The other values come from the task.">
      <Planner start={start} />
    </Card>
  );
}
