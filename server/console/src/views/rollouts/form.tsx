import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { Button, ErrorNote, Field } from '../../components';
import { inPercent, type Offer, typedShare } from '../../insight/rollouts';

/** Shares through which a careful rollout goes, in percent. */
const STEPS = [1, 10, 50, 100];

type RolloutFormProps = {
  /** The values that the form starts with. The channel of a rollout that has a number cannot be changed. */
  offer: Offer;
  /** The word on the button that sends the form. */
  word: string;
  /** Says what the chosen values do. */
  said: (offer: Offer) => ComponentChildren;
  act: (offer: Offer) => Promise<unknown>;
  close: () => void;
};

/** The fields of a rollout in a dialog. An error stays in the dialog, together with what was typed. */
export function RolloutForm({ offer, word, said, act, close }: RolloutFormProps) {
  const [channel, setChannel] = useState(offer.channel);
  const [percent, setPercent] = useState(String(inPercent(offer.share)));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const share = typedShare(percent);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (share === null) return;
    setBusy(true);
    setError(undefined);
    try {
      await act({ ...offer, channel, share });
      close();
    } catch (caught) {
      setError(caught as Error);
    }
    setBusy(false);
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {offer.number === undefined && (
        <Field label="Channel" hint="The channel that the app asks for. Apps that name none ask for stable.">
          {(field) => (
            <input
              {...field}
              required
              maxLength={64}
              pattern="[a-z][a-z0-9\-]*"
              value={channel}
              onInput={(event) => setChannel(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Share of the devices in percent" fault={share === null ? 'Enter a number from 0 to 100.' : undefined}>
        {(field) => (
          <input
            {...field}
            type="number"
            min="0"
            max="100"
            step="any"
            required
            value={percent}
            onInput={(event) => setPercent(event.currentTarget.value)}
          />
        )}
      </Field>
      <div class="switch" role="group" aria-label="Usual shares">
        {STEPS.map((step) => (
          <button key={step} type="button" aria-pressed={share === step / 100} onClick={() => setPercent(String(step))}>
            {step} %
          </button>
        ))}
      </div>
      {share !== null && channel && said({ ...offer, channel, share })}
      {error && <ErrorNote error={error} />}
      <div class="actions">
        <Button onClick={close}>Keep it as it is</Button>
        <Button type="submit" kind="primary" disabled={isBusy}>
          {word}
        </Button>
      </div>
    </form>
  );
}
