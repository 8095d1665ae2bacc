import { get, send } from '../../api/client';
import type { Rollout, Task } from '../../api/types';
import { Link, Loaded } from '../../components';
import { FormDialog } from '../../components/form-dialog';
import { offerText, shareText } from '../../insight/rollouts';
import { NEVER, useData } from '../../live';
import { RolloutForm } from './form';

/** The largest page of rollouts that the API returns. */
const LIMIT = 100;

type RollOutProps = { task: Task; version: number; done: (rollout: Rollout) => void; closed: () => void };

/** A dialog that rolls a version out to the devices of a channel. */
export function RollOut({ task, version, done, closed }: RollOutProps) {
  const path = `/populations/${String(task.description['population'])}/rollouts`;
  const data = useData(path, (signal) => get<Rollout[]>(`${path}?limit=${LIMIT}`, signal), NEVER);
  return (
    <FormDialog title={`Roll out version ${version}`} closed={closed}>
      {(close) => (
        <RolloutForm
          offer={{ channel: 'stable', task_id: task.id, version, share: 1 }}
          word="Roll out"
          said={(offer) => (
            <Loaded data={data}>
              {(rollouts) => (
                <>
                  <p role="status">{offerText(offer, { rollouts, isFirst: true, isLast: rollouts.length < LIMIT })}</p>
                  <p class="hint">If too many devices cannot load the model, the coordinator holds the rollout.</p>
                </>
              )}
            </Loaded>
          )}
          act={async ({ channel, share }) => done(await send<Rollout>('POST', path, { channel, task: task.id, version, share }))}
          close={close}
        />
      )}
    </FormDialog>
  );
}

/** Says what was rolled out, and leads to the list. */
export function RolledOut({ rollout: { number, population, channel, version, share } }: { rollout: Rollout }) {
  return (
    <p class="good" role="status">
      Rollout {number} gives version {version} to {shareText(share)} of the devices of channel {channel}.{' '}
      <Link to={`/clients/${population}`}>See the rollouts of {population}</Link>
    </p>
  );
}
