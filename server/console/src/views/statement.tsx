import { get } from '../api/client';
import type { Statement } from '../api/types';
import { Card, Facts, Link, Loaded, Page } from '../components';
import { count, number } from '../format';
import { useData } from '../live';

/** A task's privacy statement, in words and numbers. */
export default function StatementView({ parameters: [id = ''] }: { parameters: string[] }) {
  const data = useData(`statement ${id}`, (signal) => get<Statement>(`/tasks/${id}/privacy`, signal), id);
  return (
    <Page title="Privacy statement">
      <Loaded data={data}>
        {(statement) => (
          <>
            <Card title={statement.name}>
              <p>
                <Link to={`/tasks/${id}`}>The task</Link> and the {count(statement.clients)} clients of {statement.population}.
              </p>
              <dl class="sentences">
                {statement.sentences.map((sentence) => (
                  <div key={sentence.about}>
                    <dt>{sentence.about}</dt>
                    <dd>{sentence.text}</dd>
                  </div>
                ))}
              </dl>
            </Card>
            <Card title="Numbers">
              <Facts
                facts={[
                  ['Epsilon, budget', number(statement.epsilon_budget)],
                  ['Epsilon, spent', number(statement.epsilon_spent)],
                  ['Delta', number(statement.delta)],
                  ['Rho, spent', number(statement.rho_spent)],
                  ['Epsilon without amplification', number(statement.epsilon_without_amplification)],
                  ['Noise multiplier', number(statement.noise_multiplier)],
                  ['Mechanism', statement.mechanism ?? '–'],
                  ['Accountant', statement.accountant ?? '–'],
                ]}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}
