import { get } from '../../api/client';
import type { Statement, Task } from '../../api/types';
import { Card, Facts, Link, Loaded, Meter } from '../../components';
import { count, number } from '../../format';
import { useData } from '../../live';

/** The task's privacy promise, the budget it has spent, and when the budget will run out. */
export function Privacy({ task }: { task: Task }) {
  const data = useData(`statement ${task.id}`, (signal) => get<Statement>(`/tasks/${task.id}/privacy`, signal), task.id);
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
  const end = projectedEnd(statement);
  return (
    <>
      <Meter
        label="Epsilon spent"
        value={spent}
        max={budget}
        text={`${number(spent)} of ${number(budget)} at delta ${number(statement.delta)}`}
        isBad={spent >= 0.9 * budget}
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

/**
 * Estimates the number of versions after which the budget is spent at the current rate. Under zero-concentrated
 * differential privacy, rho grows in proportion to the number of versions, and
 * epsilon(rho) = rho + 2·sqrt(rho·ln(1/delta)) (Bun and Steinke 2016, proposition 1.3). The accountant's own
 * conversion is tighter, so the estimate is a lower bound.
 */
function projectedEnd(statement: Statement): string | null {
  const { rho_spent: rho, epsilon_budget: budget, delta, releases, participations_max: cap } = statement;
  if (!rho || !budget || !delta || releases === 0) return null;
  if (cap && releases >= cap) return 'never: the limit on participations keeps the task within its budget';
  const l = Math.log(1 / delta);
  const allowed = (Math.sqrt(l + budget) - Math.sqrt(l)) ** 2;
  const left = Math.floor((allowed / rho) * releases) - releases;
  return left > 0 ? `after about ${count(left)} more versions at the earliest` : 'about now';
}
