import { useState } from 'preact/hooks';

import { get, send } from '../../api/client';
import type { Rollout, Task, Version } from '../../api/types';
import { Action, Ago, Button, Card, Loaded, Table } from '../../components';
import { count, number, percent } from '../../format';
import { useData } from '../../live';
import { may } from '../../session';
import { ModelDownload } from '../model-download';
import { RolledOut, RollOut } from '../rollouts/roll-out';
import { Difference } from './difference';

const PAGE = 20;
const WITHHELD =
  'Example counts are withheld, because a private task runs or has run in this population and exact counts carry no noise. For private tasks, training loss and accuracy are withheld, too.';
const DROPPED =
  'The weights of old versions are dropped (storage.keep_versions). Their metrics stay, but these versions can no longer be downloaded, rolled out or rolled back to.';

/** The task's model versions: their origin, their metrics, and their ONNX files. */
export function Versions({ task, changed }: { task: Task; changed: () => void }) {
  const [before, setBefore] = useState<number[]>([]);
  const [compared, setCompared] = useState<Version[]>([]);
  const [rollingOut, setRollingOut] = useState<number>();
  const [rolledOut, setRolledOut] = useState<Rollout>();
  const from = before.at(-1);
  const path = `/tasks/${task.id}/versions?limit=${PAGE}${from === undefined ? '' : `&before=${from}`}`;
  const data = useData(path, (signal) => get<Version[]>(path, signal), task.id);
  const choose = (version: Version) =>
    setCompared((old) =>
      old.some((one) => one.number === version.number) ? old.filter((one) => one.number !== version.number) : [...old.slice(-1), version],
    );
  return (
    <Card title="Model versions" note="Choose two to see their metrics side by side, and what changed between them.">
      {rollingOut !== undefined && <RollOut task={task} version={rollingOut} done={setRolledOut} closed={() => setRollingOut(undefined)} />}
      {rolledOut && <RolledOut rollout={rolledOut} />}
      <Loaded data={data}>
        {(versions) => (
          <>
            {compared.length === 2 && <Difference task={task} versions={compared} />}
            <Table
              caption="Model versions, newest first"
              rows={versions}
              keyOf={(version) => version.number}
              columns={[
                {
                  name: 'Compare',
                  show: (version) => (
                    <input
                      type="checkbox"
                      aria-label={`Compare version ${version.number}`}
                      checked={compared.some((one) => one.number === version.number)}
                      onChange={() => choose(version)}
                    />
                  ),
                },
                { name: 'Version', isNumber: true, show: (version) => count(version.number) },
                { name: 'Origin', show: origin },
                { name: 'Accuracy', isNumber: true, show: (version) => percent(version.accuracy) },
                { name: 'Loss', isNumber: true, show: (version) => number(version.mean_loss) },
                { name: 'Examples', isNumber: true, show: (version) => number(version.example_count) },
                { name: 'Change (L2)', isNumber: true, show: (version) => number(version.change_norm) },
                { name: 'Released', show: (version) => <Ago at={version.created_at} /> },
                {
                  name: 'ONNX',
                  show: (version) =>
                    isDropped(version) ? (
                      <span class="note" title={DROPPED}>
                        dropped <Ago at={version.dropped_at as number} />
                      </span>
                    ) : (
                      <ModelDownload
                        task={task.id}
                        population={String(task.description['population'])}
                        version={version.number}
                        file={`version-${version.number}.onnx`}
                        label={`Download version ${version.number}`}
                      />
                    ),
                },
                ...(may('operator')
                  ? [
                      {
                        name: 'Roll out',
                        show: (version: Version) =>
                          !isDropped(version) && (
                            <Button label={`Roll out version ${version.number}`} onClick={() => setRollingOut(version.number)}>
                              Roll&nbsp;out&nbsp;…
                            </Button>
                          ),
                      },
                    ]
                  : []),
                ...(may('operator') && task.state === 'paused'
                  ? [{ name: 'Roll back', show: (version: Version) => <RollBack task={task} version={version} changed={changed} /> }]
                  : []),
              ]}
            />
            {versions.some(isWithheld) && <p class="note">{WITHHELD}</p>}
            {versions.some(isDropped) && <p class="note">{DROPPED}</p>}
            {may('operator') && task.state === 'active' && <p class="note">To roll back to an earlier version, pause the task first.</p>}
            <div class="actions">
              <Button disabled={before.length === 0} onClick={() => setBefore((old) => old.slice(0, -1))}>
                Newer
              </Button>
              <Button disabled={versions.length < PAGE} onClick={() => setBefore((old) => [...old, versions.at(-1)?.number ?? 0])}>
                Older
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function isWithheld(version: Version): boolean {
  return version.example_count === null || version.example_count === undefined;
}

function isDropped(version: Version): boolean {
  return version.dropped_at !== null && version.dropped_at !== undefined;
}

function origin(version: Version): string {
  if (version.number === 0) return 'initial weights';
  if (version.rolled_back_to !== null && version.rolled_back_to !== undefined) return `weights of version ${version.rolled_back_to}`;
  return `version ${version.number - 1} plus the updates of a round`;
}

function RollBack({ task, version, changed }: { task: Task; version: Version; changed: () => void }) {
  if (version.number === task.latest_version) return <span class="note">newest</span>;
  if (isDropped(version)) return null;
  const confirm = {
    title: `Roll back to version ${version.number}?`,
    text: `This creates version ${task.latest_version + 1} with the weights of version ${version.number}. The versions in between stay in the list. Clients start from the new version when you resume the task.`,
    word: 'Roll back',
  };
  return (
    <Action act={() => send('POST', `/tasks/${task.id}/roll-back`, { version: version.number })} done={changed} confirm={confirm}>
      Roll back
    </Action>
  );
}
