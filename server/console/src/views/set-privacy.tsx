import { useState } from 'preact/hooks';

import { send } from '../api/client';
import type { Population } from '../api/types';
import { Action, Field } from '../components';
import { typed } from '../format';

/**
 * A form that sets a population's unit of privacy, and the budget of all its tasks together. An empty field leaves its
 * setting unchanged.
 */
export function SetPrivacy({ populations, done }: { populations: Population[]; done: () => void }) {
  const [name, setName] = useState(populations[0]?.name ?? '');
  const [unit, setUnit] = useState('');
  const [epsilon, setEpsilon] = useState('');
  const [delta, setDelta] = useState('');
  const [reason, setReason] = useState('');
  const chosen = populations.find((one) => one.name === name);
  const set = (change: object) => send('POST', `/populations/${name}/privacy`, change);
  const change = async () => {
    await set({
      ...(unit ? { unit } : {}),
      ...(epsilon ? { epsilon: typed('Epsilon', epsilon) } : {}),
      ...(delta ? { delta: typed('Delta', delta) } : {}),
      ...(reason ? { weaken: reason } : {}),
    });
    setEpsilon('');
    setDelta('');
    setReason('');
  };
  const limit = {
    title: `Set the budget of ${name}?`,
    text: 'Tasks of this population that are not private will end permanently, and so will every task that would exceed the remaining budget.',
    word: 'Set the budget',
  };
  const confirm = {
    title: `Remove the budget of ${name}?`,
    text: 'Its tasks will then stop only at their own budgets, and no other task can start. The reason is recorded in the ledger.',
    word: 'Remove the budget',
  };
  return (
    <>
      <form class="inline" onSubmit={(event) => event.preventDefault()}>
        <Field label="Population">
          {(field) => (
            <select {...field} value={name} onChange={(event) => setName(event.currentTarget.value)}>
              {populations.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Protects">
          {(field) => (
            <select {...field} value={unit} onChange={(event) => setUnit(event.currentTarget.value)}>
              <option value="">unchanged</option>
              <option value="client">every client</option>
              <option value="user">every user, with all their devices</option>
            </select>
          )}
        </Field>
        <Field label="Epsilon of all tasks together">
          {(field) => <input {...field} inputMode="decimal" value={epsilon} onInput={(event) => setEpsilon(event.currentTarget.value)} />}
        </Field>
        <Field label="Delta of all tasks together">
          {(field) => <input {...field} inputMode="decimal" value={delta} onInput={(event) => setDelta(event.currentTarget.value)} />}
        </Field>
        <Field label="Reason, if the budget is weakened">
          {(field) => <input {...field} maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />}
        </Field>
        <Action disabled={!unit && !epsilon && !delta} act={change} done={done} confirm={epsilon || delta ? limit : undefined}>
          Set
        </Action>
      </form>
      {chosen?.epsilon && (
        <Action
          kind="danger"
          disabled={!reason}
          act={() => set({ no_budget: true, weaken: reason })}
          done={done}
          confirm={confirm}
        >{`Remove the budget of ${name}`}</Action>
      )}
    </>
  );
}
