import { useEffect, useRef, useState } from 'preact/hooks';

import { send } from '../api/client';
import type { Planned } from '../api/types';
import { Chart } from '../charts/chart';
import { ErrorNote, Facts, Field } from '../components';
import { number, typed } from '../format';

const FIELDS: [string, string, string][] = [
  ['clients', 'Clients in the population', 'at least 1'],
  ['report_goal', 'Updates per version', 'the report goal'],
  ['rounds', 'Versions', 'the number of versions to release'],
  ['participations', 'Maximum versions per client', 'all versions if empty'],
  ['epsilon', 'Epsilon', 'the budget of all versions together'],
  ['delta', 'Delta', '1 / clients^1.1 if empty'],
  ['parameters', 'Model parameters', '1,000,000 if empty'],
  ['clipping_norm', 'Clipping norm', '1 if empty'],
];
const WAIT_MILLISECONDS = 250;

const VERDICTS = {
  harmless: 'Harmless: the noise hardly affects training.',
  costly: 'Costly: the model learns, but more slowly and less well.',
  hopeless: 'Hopeless: the noise drowns out the updates.',
};

/** The privacy planner. The coordinator's accountant computes the noise and the curve while the user types. */
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
    // Copy the values that changed in the task, and keep all other values that the user typed here.
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
        x={{ label: 'Versions per client', unit: '', values: forecast.epsilon_curve.map(([at]) => at), isWhole: true }}
        yUnit="Epsilon"
        lines={[{ label: 'Epsilon', unit: '', values: forecast.epsilon_curve.map(([, epsilon]) => epsilon) }]}
      />
    </>
  );
}
