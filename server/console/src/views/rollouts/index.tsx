import { useState } from 'preact/hooks';

import { get, send } from '../../api/client';
import type { Rollout, TaskSummary } from '../../api/types';
import { Action, Ago, Button, Card, Empty, Link, Loaded, Table } from '../../components';
import { FormDialog } from '../../components/form-dialog';
import { count } from '../../format';
import { byChannel, holdText, type Listed, offerText, shareText, stateText } from '../../insight/rollouts';
import { CLIENTS_MILLISECONDS, NEVER, useData, useEvery } from '../../live';
import { may } from '../../session';
import { RolloutForm } from './form';

const PAGE = 20;

/** A population's rollouts by channel: the model versions that its apps should use. */
export function Rollouts({ population }: { population: string }) {
  const [before, setBefore] = useState<number[]>([]);
  const from = before.at(-1);
  const path = `/populations/${population}/rollouts?limit=${PAGE}${from === undefined ? '' : `&before=${from}`}`;
  const data = useData(path, (signal) => get<Rollout[]>(path, signal), NEVER);
  useEvery(CLIENTS_MILLISECONDS, data);
  return (
    <Card title="Rollouts" note="The model versions that apps should use. A device gets the newest open rollout that includes it.">
      <Loaded data={data}>
        {(rollouts) => {
          const isFirst = from === undefined;
          const isLast = rollouts.length < PAGE;
          if (isFirst && rollouts.length === 0) return <NoRollouts />;
          return (
            <>
              <Channels population={population} listed={{ rollouts, isFirst, isLast }} changed={data.again} />
              {!(isFirst && isLast) && (
                <div class="actions">
                  <Button disabled={isFirst} onClick={() => setBefore((old) => old.slice(0, -1))}>
                    Newer rollouts
                  </Button>
                  <Button disabled={isLast} onClick={() => setBefore((old) => [...old, rollouts.at(-1)?.number ?? 0])}>
                    Older rollouts
                  </Button>
                </div>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

function NoRollouts() {
  return (
    <Empty>
      <h3>No model is rolled out yet</h3>
      <p>
        A rollout gives a model version to the apps of a channel: first to a few devices, then to all. An operator creates one with{' '}
        <b>Roll out …</b> beside a version on a task’s page, or with <code>folkmoot rollout create</code>.
      </p>
    </Empty>
  );
}

type ChannelsProps = { population: string; listed: Listed; changed: () => void };

function Channels({ population, listed, changed }: ChannelsProps) {
  const tasks = useData(
    `tasks of ${population}`,
    (signal) => get<TaskSummary[]>(`/tasks?population=${population}&limit=100`, signal),
    NEVER,
  );
  const called = (rollout: Rollout) => tasks.data?.find(({ id }) => id === rollout.task_id)?.name;
  return (
    <>
      {byChannel(listed.rollouts).map(([channel, rollouts]) => (
        <section key={channel}>
          <h3>Channel {channel}</h3>
          <Table
            caption={`Rollouts of channel ${channel}`}
            rows={rollouts}
            keyOf={(rollout) => rollout.number}
            columns={[
              { name: 'Rollout', isNumber: true, show: (rollout) => count(rollout.number) },
              {
                name: 'Model',
                show: (rollout) => (
                  <Link to={`/tasks/${rollout.task_id}`}>
                    {[called(rollout), `version\u00a0${rollout.version}`].filter(Boolean).join(', ')}
                  </Link>
                ),
              },
              { name: 'Share', isNumber: true, show: (rollout) => shareText(rollout.share) },
              { name: 'Loaded', isNumber: true, show: (rollout) => count(rollout.loaded) },
              { name: 'Failed', isNumber: true, show: (rollout) => count(rollout.failed) },
              { name: 'Since', show: (rollout) => <Ago at={rollout.created_at} /> },
              { name: 'State', show: (rollout) => <State rollout={rollout} listed={listed} /> },
              ...(may('operator')
                ? [{ name: 'Change', show: (rollout: Rollout) => <Change rollout={rollout} listed={listed} changed={changed} /> }]
                : []),
            ]}
          />
        </section>
      ))}
    </>
  );
}

function State({ rollout, listed }: { rollout: Rollout; listed: Listed }) {
  return (
    <span class="words">
      {stateText(rollout, listed)}
      {rollout.last_failure && `. Last failure: ${rollout.last_failure}`}
    </span>
  );
}

type ChangeProps = { rollout: Rollout; listed: Listed; changed: () => void };

function Change({ rollout, listed, changed }: ChangeProps) {
  const [isOpen, setOpen] = useState(false);
  const { number, version } = rollout;
  const hold = {
    title: `Hold rollout ${number}?`,
    text: `No device gets version ${version} any more. ${holdText(rollout, listed)} You can resume the rollout.`,
    word: 'Hold the rollout',
  };
  const resume = {
    title: `Resume rollout ${number}?`,
    text: offerText(rollout, listed),
    word: 'Resume the rollout',
  };
  return (
    <div class="actions">
      <Button label={`Share of rollout ${number}`} onClick={() => setOpen(true)}>
        Share&nbsp;…
      </Button>
      {isOpen && <ChangeShare rollout={rollout} listed={listed} changed={changed} closed={() => setOpen(false)} />}
      {rollout.held ? (
        <Action kind="primary" act={() => change(rollout, { held: false })} done={changed} confirm={resume}>
          Resume
        </Action>
      ) : (
        <Action kind="danger" act={() => change(rollout, { held: true })} done={changed} confirm={hold}>
          Hold
        </Action>
      )}
    </div>
  );
}

function ChangeShare({ rollout, listed, changed, closed }: ChangeProps & { closed: () => void }) {
  return (
    <FormDialog title={`Change the share of rollout ${rollout.number}`} closed={closed}>
      {(close) => (
        <RolloutForm
          offer={rollout}
          word="Change the share"
          said={(offer) => (
            <>
              <p role="status">{rollout.held ? 'No device gets the version while the rollout is held.' : offerText(offer, listed)}</p>
              <p class="hint">
                If more than {shareText(rollout.failures_max)} of the devices that report, and more than one, cannot load the model, the
                coordinator holds the rollout.
              </p>
            </>
          )}
          act={async ({ share }) => {
            await change(rollout, { share });
            changed();
          }}
          close={close}
        />
      )}
    </FormDialog>
  );
}

function change({ population, number }: Rollout, body: { share?: number; held?: boolean }): Promise<Rollout> {
  return send('POST', `/populations/${population}/rollouts/${number}`, body);
}
