import { useEffect, useRef, useState } from 'preact/hooks';

import { send } from '../api/client';
import type { Planned } from '../api/types';
import { Chart } from '../charts/chart';
import { ErrorNote, Facts, Field } from '../components';
import { number, typed } from '../format';

const FIELDS: [string, string, string][] = [
  ['clients', 'Clients of the population', 'whole, at least 1'],
  ['report_goal', 'Updates of a version', 'the report goal'],
  ['rounds', 'Versions', 'how many there will be'],
  ['participations', 'Versions with one client, at most', 'all if it is empty'],
  ['epsilon', 'Epsilon', 'what all of them may spend'],
  ['delta', 'Delta', '1 / clients^1.1 if it is empty'],
  ['parameters', 'Parameters of the model', 'a million if it is empty'],
  ['clipping_norm', 'Clipping norm', '1 if it is empty'],
];
const WAIT_MILLISECONDS = 250;

const VERDICTS = {
  harmless: 'Harmless: training will hardly notice the noise.',
  costly: 'Costly: something is learned, more slowly and less well.',
  hopeless: 'Hopeless: the noise drowns what clients teach.',
};

/** Derives noise and curve while one types; the coordinator's accountant computes them. */
export function Planner({ start = {} }: { start?: Record<string, string> }) {
  const [values, setValues] = useState<Record<string, string>>({
    clients: '10000',
    report_goal: '100',
    rounds: '100',
    participations: '10',
    epsilon: '8',
    ...start,
  });
  const [planned, setPlanned] = useState<Planned>();
  const shown = useRef(start);
  useEffect(() => {
    // What the task says anew goes in; what was typed here beside it stays.
    const changed = Object.entries(start).filter(([name, text]) => shown.current[name] !== text);
    shown.current = start;
    if (changed.length > 0) setValues((old) => ({ ...old, ...Object.fromEntries(changed) }));
  }, [JSON.stringify(start)]);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    let isOver = false;
    const timer = setTimeout(() => {
      const given = Object.entries(values).filter(([, text]) => text.trim() !== '');
      const label = (name: string) => FIELDS.find(([field]) => field === name)?.[1] ?? name;
      const plan = async () =>
        send<Planned>('POST', '/privacy/plan', Object.fromEntries(given.map(([name, text]) => [name, typed(label(name), text)])));
      plan().then(
        (answer) => {
          if (isOver) return;
          setPlanned(answer);
          setError(undefined);
        },
        (caught: Error) => {
          if (isOver) return;
          setPlanned(undefined);
          setError(caught);
        },
      );
    }, WAIT_MILLISECONDS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [values]);
  return (
    <div class="columns">
      <div class="grid">
        {FIELDS.map(([name, label, hint]) => (
          <Field key={name} label={label} hint={hint}>
            {(field) => (
              <input
                {...field}
                inputMode="decimal"
                value={values[name] ?? ''}
                onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
              />
            )}
          </Field>
        ))}
      </div>
      <div>
        {error && <ErrorNote error={error} />}
        {planned && <Plan planned={planned} />}
      </div>
    </div>
  );
}

function Plan({ planned: { intention, forecast } }: { planned: Planned }) {
  return (
    <>
      <p class={`verdict ${forecast.verdict}`} role="status">
        {VERDICTS[forecast.verdict]}
      </p>
      <Facts
        facts={[
          ['Noise multiplier', number(forecast.noise_multiplier.value)],
          ['Noise to signal, in a round', number(forecast.noise_to_signal)],
          ['Noise to signal, over all rounds', number(forecast.noise_to_signal_over_rounds)],
          ['Delta', number(intention.delta)],
        ]}
      />
      <Chart
        title="Epsilon spent"
        x={{ label: 'Versions with a client', unit: '', values: forecast.epsilon_curve.map(([at]) => at), isWhole: true }}
        yUnit="Epsilon"
        lines={[{ label: 'Epsilon', unit: '', values: forecast.epsilon_curve.map(([, epsilon]) => epsilon) }]}
      />
    </>
  );
}
