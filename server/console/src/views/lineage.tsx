import { get } from '../api/client';
import type { TaskSummary } from '../api/types';
import { Ago, Card, Empty, Link, Loaded, State, Table } from '../components';
import { count } from '../format';
import { IDLE_MILLISECONDS } from '../insight/use-facts';
import { NEVER, useData, useEvery } from '../live';
import { ModelDownload } from './model-download';

const PAGE = 100;
/** The maximum number of pages of tasks that are searched for a model. */
const PAGES_MAX = 10;

/** The tasks that started from a model. Each task's page has the versions that came from it. */
export function Lineage({ model }: { model: string }) {
  // The search reads many tasks, so it is not repeated at each change of a task.
  const data = useData(`lineage ${model}`, (signal) => tasksOf(model, signal), NEVER);
  useEvery(IDLE_MILLISECONDS, data);
  return (
    <Card title="Tasks that train it" note="Each of them has its own versions, with a download as ONNX for each.">
      <Loaded data={data}>
        {(tasks) =>
          tasks.length === 0 ? (
            <Empty>
              <h3>No task trains this model yet</h3>
              <p>
                A task trains a copy of the model with the clients of one app. <Link to={`/tasks/new?model=${model}`}>Create a task</Link>.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Tasks of the model, newest first"
              rows={tasks}
              keyOf={(task) => task.id}
              columns={[
                { name: 'Task', show: (task) => <Link to={`/tasks/${task.id}`}>{task.name}</Link> },
                { name: 'Population', show: (task) => task.population },
                { name: 'State', show: (task) => <State state={task.state} /> },
                { name: 'Rounds committed', isNumber: true, show: (task) => count(task.rounds_committed) },
                { name: 'Created', show: (task) => <Ago at={task.created_at} /> },
                {
                  name: 'Newest version',
                  show: (task) => (
                    <ModelDownload
                      task={task.id}
                      population={task.population}
                      version="latest"
                      file={`${task.name}.onnx`}
                      label={`Download ${task.name}`}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

async function tasksOf(model: string, signal: AbortSignal): Promise<TaskSummary[]> {
  const found: TaskSummary[] = [];
  let before = '';
  for (let page = 0; page < PAGES_MAX; page++) {
    const tasks = await get<TaskSummary[]>(`/tasks?limit=${PAGE}${before && `&before=${before}`}`, signal);
    found.push(...tasks.filter((task) => task.model === model));
    if (tasks.length < PAGE) break;
    before = tasks.at(-1)?.id ?? '';
  }
  return found;
}
