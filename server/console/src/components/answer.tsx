/** An answer to an operator's question: its verdict, cause, deadline and remedy. */

import type { Answer, Tone } from '../insight/facts';
import type { Standing } from '../insight/standing';
import { Link, Until } from '.';
import { Icon, type IconName } from './icons';

const ICONS: Record<string, IconName> = {
  Draft: 'draft',
  Paused: 'paused',
  'Paused by the coordinator': 'paused',
  Finished: 'finished',
  Learnt: 'finished',
  Learning: 'learning',
  Cancelled: 'stop',
  Level: 'learning',
  Unsteady: 'learning',
  Running: 'system',
  'No promise': 'privacy',
  'Masked, no noise': 'privacy',
  'Within its budget': 'privacy',
};
const BY_TONE: Record<Tone, IconName> = { good: 'finished', calm: 'waiting', warn: 'warning', bad: 'stop' };

/** The icon that stands beside an answer's verdict. */
function iconOf(answer: Answer): IconName {
  return ICONS[answer.verdict] ?? BY_TONE[answer.tone];
}

function Sentence({ answer }: { answer: Answer }) {
  return (
    <>
      {answer.cause}
      {answer.until !== undefined && (
        <>
          {' '}
          until <Until at={answer.until} />
        </>
      )}
      {answer.thereafter}.
    </>
  );
}

/** The status line. It shows one answer; the tone follows from the answer's urgency. */
export function StatusLine({ answer }: { answer: Answer }) {
  return (
    <div class={`status-line ${answer.tone}`} role="status" aria-label="Status">
      <Icon name={iconOf(answer)} />
      <div>
        <p class="status-cause">
          <strong>{answer.verdict}.</strong> <Sentence answer={answer} />
        </p>
        {(answer.remedy || answer.link) && (
          <p class="status-remedy">
            {answer.remedy} {answer.link && <Link to={answer.link.to}>{answer.link.text}</Link>}
          </p>
        )}
      </div>
    </div>
  );
}

const QUESTIONS: [keyof Omit<Standing, 'line'>, string][] = [
  ['learning', 'Is it learning?'],
  ['stuck', 'Is it stuck?'],
  ['safe', 'Is it safe?'],
];

/** The three questions, each with its verdict and cause. */
export function Questions({ standing }: { standing: Standing }) {
  return (
    <dl class="questions">
      {QUESTIONS.map(([name, question]) => {
        const answer = standing[name];
        return (
          <div key={name} class={answer.tone}>
            <dt>{question}</dt>
            <dd>
              <strong>
                <Icon name={iconOf(answer)} /> {answer.verdict}
              </strong>
              {answer === standing.line ? (
                <span class="hint">See above.</span>
              ) : (
                <span>
                  <Sentence answer={answer} />
                </span>
              )}
              {answer !== standing.line && answer.remedy && <span class="hint">{answer.remedy}</span>}
              {answer !== standing.line && answer.link && <Link to={answer.link.to}>{answer.link.text}</Link>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
