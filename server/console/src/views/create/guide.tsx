import { useId, useState } from 'preact/hooks';

import { get } from '../../api/client';
import type { ModelGraph } from '../../api/types';
import { Card, Facts, Field, Loaded } from '../../components';
import { bytes, count, duration, flops } from '../../format';
import { NEVER, useData } from '../../live';
import { cost } from './cost';
import { NumberInput } from './form';
import { type Description, goal, isMasked, QUESTIONS, type Question, table } from './questions';

/** The speed that the estimate of training time assumes, in floating-point operations per second. */
const ASSUMED_SPEED = 5e9;

type Props = { model: string; task: Description; change: (task: Description) => void };

/** Creates a task from a few questions. Every answer shows its cost; all other keys keep their defaults. */
export function Guide({ model, task, change }: Props) {
  const graph = useData(`graph ${model}`, (signal) => get<ModelGraph>(`/models/${model}/graph`, signal), NEVER);
  return (
    <div class="split guided">
      <Card title="2. The task" note="Your answers fill in the task file. Everything that you do not answer keeps its default.">
        <form class="guide" onSubmit={(event) => event.preventDefault()}>
          <Names task={task} change={change} />
          {QUESTIONS.map((question) => (
            <Choices key={question.title} question={question} task={task} change={change} />
          ))}
        </form>
      </Card>
      <Card title="What it costs">
        <Loaded data={graph}>{(graph) => <Costs graph={graph} task={task} />}</Loaded>
      </Card>
    </div>
  );
}

function Choices({ question: { title, options }, task, change }: { question: Question } & Omit<Props, 'model'>) {
  const id = useId();
  return (
    <fieldset class="choices">
      <legend>{title}</legend>
      {options.map((option, index) => (
        <label key={option.title}>
          <input
            type="radio"
            name={id}
            aria-describedby={`${id}-${index}`}
            checked={option.isChosen(task)}
            onChange={() => change(option.choose(task))}
          />
          <span>
            <b>{option.title}</b>
            <span class="hint" id={`${id}-${index}`}>
              {option.text}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The task's names, and the numbers that the cost depends on. */
function Names({ task, change }: Omit<Props, 'model'>) {
  const set = (name: string, value: unknown) => change({ ...task, [name]: value });
  const within = (name: string, key: string) => (value: unknown) => set(name, { ...table(task, name), [key]: value });
  const goalKey = table(task, 'scheduling')['kind'] === 'buffered' ? 'buffer_goal' : 'report_goal';
  return (
    <div class="grid">
      <Field label="Name of the task" hint="The name in lists and in the logs.">
        {(field) => <input {...field} value={String(task['name'] ?? '')} onInput={(event) => set('name', event.currentTarget.value)} />}
      </Field>
      <Field label="Population of clients" hint="All clients of one app. A new name creates a new population.">
        {(field) => (
          <input {...field} value={String(task['population'] ?? '')} onInput={(event) => set('population', event.currentTarget.value)} />
        )}
      </Field>
      <Field label="Updates in each version" hint="More updates make each version better, but a round longer.">
        {(field) => <NumberInput field={field} value={table(task, 'scheduling')[goalKey]} change={within('scheduling', goalKey)} />}
      </Field>
      <Field label="Number of rounds" hint="The task ends after this many versions.">
        {(field) => <NumberInput field={field} value={table(task, 'stop')['rounds']} change={within('stop', 'rounds')} />}
      </Field>
    </div>
  );
}

function Costs({ graph, task }: { graph: ModelGraph; task: Description }) {
  const [examples, setExamples] = useState<unknown>(200);
  const number = Number(examples) > 0 ? Number(examples) : 0;
  const { sent, fetched, drawn, rounds, flops: work } = cost(graph, task, number);
  const masked = isMasked(task);
  const all = rounds !== undefined && sent !== undefined ? rounds * drawn * (sent + fetched) : undefined;
  return (
    <>
      <Field label="Examples of one client" hint="An assumption for the estimates below; it is not part of the task.">
        {(field) => <NumberInput field={field} value={examples} change={setExamples} />}
      </Field>
      <h3>Each client, each round</h3>
      <Facts
        facts={[
          ['Fetches at most', bytes(fetched)],
          ['Sends about', masked ? `${bytes(fetched)} or more, masked` : sent === undefined ? 'depends on the codec' : bytes(sent)],
          ['Computes', flops(work)],
          ['Trains for, if it does 5 GFLOP/s', duration((1000 * work) / ASSUMED_SPEED)],
        ]}
      />
      <h3>The whole task</h3>
      <Facts
        facts={[
          ['Clients in a round', `${count(drawn)} to get ${count(goal(task))} updates`],
          ['Rounds', rounds === undefined ? 'no limit' : count(rounds)],
          ['Traffic of all clients', all === undefined || masked ? 'no estimate' : `about ${bytes(all)}`],
        ]}
      />
      <p class="note">
        Estimates from the model's {count(graph.parameter_count)} parameters, without headers, lost transfers and networks' limits. Where
        you ask for noise, the card below says whether the model can still learn.
      </p>
    </>
  );
}
