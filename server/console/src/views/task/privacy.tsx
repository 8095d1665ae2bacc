import type { Statement, Task } from '../../api/types';
import { Card, Facts, Link, Loaded, Meter } from '../../components';
import { count, number } from '../../format';
import { NEARLY_SPENT } from '../../insight/is-safe';
import { versionsLeft } from '../../insight/projection';
import type { Data } from '../../live';

/** The task's privacy promise, the budget it has spent, and when the budget will run out. */
export function Privacy({ task, data }: { task: Task; data: Data<Statement> }) {
  return (
    <Card title="Privacy">
      <Loaded data={data}>
        {(statement) => (
          <>
            {statement.is_private && statement.epsilon_budget ? (
              <Budget statement={statement} />
            ) : (
              <p class="note">{statement.sentences[0]?.text ?? 'This task promises no privacy.'}</p>
            )}
            <p>
              <Link to={`/privacy/tasks/${task.id}`}>Complete statement</Link>
            </p>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Budget({ statement }: { statement: Statement }) {
  const spent = statement.epsilon_spent ?? 0;
  const budget = statement.epsilon_budget ?? 0;
  const end = projectedEnd(versionsLeft(statement));
  return (
    <>
      <Meter
        label="Epsilon spent"
        value={spent}
        max={budget}
        text={`${number(spent)} of ${number(budget)} at delta ${number(statement.delta)}`}
        isBad={spent >= NEARLY_SPENT * budget}
      />
      <Facts
        facts={[
          ['Protects', `every ${statement.unit ?? 'client'}`],
          ['Noise multiplier', number(statement.noise_multiplier)],
          ['Versions released with noise', count(statement.releases)],
          ['Maximum number of versions', statement.releases_max ? count(statement.releases_max) : 'until the budget is spent'],
          ...(end ? [['Projected end', end] as [string, string]] : []),
        ]}
      />
    </>
  );
}

function projectedEnd(left: number | undefined): string | undefined {
  if (left === undefined) return undefined;
  if (left === Infinity) return 'never: the limit on participations keeps the task within its budget';
  return left > 0 ? `after about ${count(left)} more versions at the earliest` : 'about now';
}
