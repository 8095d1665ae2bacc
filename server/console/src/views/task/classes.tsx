import { get } from '../../api/client';
import type { ClassEvaluation, Task } from '../../api/types';
import { Card, Facts, Loaded, Table } from '../../components';
import { count, number, words } from '../../format';
import { useData } from '../../live';

/** The maximum number of classes that the page lists. */
const CLASSES_MAX = 64;

const NOTES: Record<string, string> = {
  central: 'Measured by the coordinator on your own examples.',
  federated: 'Measured by clients on their own examples.',
  fine_tuned: 'Measured by clients on their own examples, after each has fine-tuned the version.',
};

type Report = NonNullable<ClassEvaluation['classes']>;

/** Every metric of an evaluated version from one source, and its predictions class by class. */
export function Classes({ task, version, source }: { task: Task; version: number; source: string }) {
  const note = NOTES[source] ?? '';
  const path = `/tasks/${task.id}/evaluations/${version}`;
  const data = useData(path, (signal) => get<ClassEvaluation[]>(path, signal), task.id);
  return (
    <Loaded data={data}>
      {(evaluations) => (
        <>
          {evaluations
            .filter((one) => one.evaluation.source === source)
            .map(({ evaluation, classes }) => (
              <Card key={evaluation.source} title={`Version ${version} in detail`} note={note}>
                <Facts facts={Object.entries(evaluation.metrics).map(([name, value]): [string, string] => [words(name), number(value)])} />
                {evaluation.metrics_missing && <p class="note">{evaluation.metrics_missing}</p>}
                {classes && classes.classes.length > 0 && classes.classes.length <= CLASSES_MAX && <Predictions report={classes} />}
                {classes && classes.classes.length > CLASSES_MAX && (
                  <p class="note">
                    The model has {count(classes.classes.length)} classes. `folkmoot task evaluations --version {version} --json` lists
                    them.
                  </p>
                )}
              </Card>
            ))}
        </>
      )}
    </Loaded>
  );
}

function Predictions({ report }: { report: Report }) {
  const confusion = report.confusion.map((row, label) => ({ label, row }));
  return (
    <>
      <Table
        caption="Predictions by class"
        rows={report.classes}
        keyOf={(row) => row.class}
        columns={[
          { name: 'Class', isNumber: true, show: (row) => count(row.class) },
          { name: 'Labels', isNumber: true, show: (row) => count(row.label_count) },
          { name: 'Predicted', isNumber: true, show: (row) => count(row.predicted_count) },
          { name: 'Precision', isNumber: true, show: (row) => number(row.precision) },
          { name: 'Recall', isNumber: true, show: (row) => number(row.recall) },
          { name: 'F1', isNumber: true, show: (row) => number(row.f1) },
        ]}
      />
      {confusion.length > 0 && (
        <>
          <p class="note">Confusion matrix: one row for each label, one column for each predicted class.</p>
          <Table
            caption="Confusion matrix"
            rows={confusion}
            keyOf={(row) => row.label}
            columns={[
              { name: 'Label', isNumber: true, show: ({ label }: (typeof confusion)[number]) => count(label) },
              ...confusion.map(({ label: predicted }) => ({
                name: `${predicted}`,
                isNumber: true,
                show: ({ row }: (typeof confusion)[number]) => count(row[predicted] ?? 0),
              })),
            ]}
          />
        </>
      )}
    </>
  );
}
