/** The questions of the guide. Each answer is a change of the task's description, and is read back from it. */

export type Description = Record<string, unknown>;
type Table = Record<string, unknown>;

export interface Option {
  title: string;
  /** The meaning and the cost of the choice, as sentences. */
  text: string;
  isChosen: (task: Description) => boolean;
  choose: (task: Description) => Description;
}

export interface Question {
  title: string;
  options: Option[];
}

export function table(task: Description, name: string): Table {
  const value = task[name];
  return typeof value === 'object' && value !== null ? (value as Table) : {};
}

function without(task: Description, ...names: string[]): Description {
  return Object.fromEntries(Object.entries(task).filter(([name]) => !names.includes(name)));
}

/** The number of updates that a round or a commit needs. */
export function goal(task: Description): number {
  const { report_goal, buffer_goal } = table(task, 'scheduling');
  const value = Number(report_goal ?? buffer_goal);
  return Number.isFinite(value) && value > 0 ? value : 10;
}

function lossIs(name: string): Pick<Option, 'isChosen' | 'choose'> {
  return {
    isChosen: (task) => table(task, 'plan')['loss'] === name,
    choose: (task) => ({ ...task, plan: { ...table(task, 'plan'), loss: name } }),
  };
}

const PREDICTS: Question = {
  title: 'What does the model predict?',
  options: [
    { title: 'One of several classes', text: 'The model has one output for each class.', ...lossIs('softmax_cross_entropy') },
    { title: 'Yes or no', text: 'The model has one output, above 0 for yes.', ...lossIs('binary_cross_entropy') },
    { title: 'A number', text: 'The model’s output is the number itself.', ...lossIs('mean_squared_error') },
  ],
};

function scheduled(task: Description, kind: string, factor?: number): boolean {
  const { kind: own, over_selection_factor } = table(task, 'scheduling');
  return own === kind && (factor === undefined || (over_selection_factor === 1) === (factor === 1));
}

const CLIENTS: Question = {
  title: 'Who has the data?',
  options: [
    {
      title: 'A few organisations',
      text: 'Their machines are always on. A round draws exactly as many clients as it needs, and waits for all of them.',
      isChosen: (task) => scheduled(task, 'synchronous', 1),
      choose: (task) => ({ ...task, scheduling: { kind: 'synchronous', report_goal: goal(task), over_selection_factor: 1 } }),
    },
    {
      title: 'Many devices',
      text: 'Some drop out. A round draws 30 % more clients than it needs, so some clients train in vain.',
      isChosen: (task) => scheduled(task, 'synchronous', 1.3),
      choose: (task) => ({ ...task, scheduling: { kind: 'synchronous', report_goal: goal(task) } }),
    },
    {
      title: 'Devices that come at any time',
      text: 'Nobody waits: the coordinator commits a version for every few updates. Older updates count less. Cannot be combined with masks or central noise.',
      isChosen: (task) => scheduled(task, 'buffered'),
      choose: (task) => ({ ...task, scheduling: { kind: 'buffered', buffer_goal: goal(task), concurrency: 10 * goal(task) } }),
    },
  ],
};

const BUDGET = { epsilon: 8, delta: 1e-6 };

export function isMasked(task: Description): boolean {
  return typeof task['protection'] === 'object' && task['protection'] !== null;
}

function noise(task: Description): string {
  return String(table(task, 'privacy')['kind'] ?? 'none');
}

const PRIVACY: Question = {
  title: 'What must stay private?',
  options: [
    {
      title: 'The examples',
      text: 'They never leave the clients. The coordinator sees each update, and the model may remember single examples. Costs nothing.',
      isChosen: (task) => !isMasked(task) && noise(task) === 'none',
      choose: (task) => without(task, 'protection', 'privacy', 'aggregator'),
    },
    {
      title: 'Each update, too',
      text: 'Clients mask their updates, and the coordinator sees only sums. A round takes three more steps, updates are not compressed, and no rule can reject bad updates.',
      isChosen: (task) => isMasked(task) && noise(task) === 'none',
      choose: (task) => ({
        ...without(task, 'privacy', 'compression'),
        protection: { secure_aggregation: {} },
        aggregator: { kind: 'weighted_mean' },
      }),
    },
    {
      title: 'Each client’s part in the model',
      text: 'The coordinator clips updates and adds noise: differential privacy with a budget. The model learns less; with few clients it learns nothing.',
      isChosen: (task) => noise(task) === 'central',
      choose: (task) => ({
        ...without(task, 'protection'),
        privacy: { kind: 'central', ...BUDGET, clipping: { kind: 'fixed', norm: 1 } },
        aggregator: { kind: 'uniform_mean' },
      }),
    },
    {
      title: 'Both, even from the coordinator',
      text: 'Each client adds its share of the noise and masks its update. Costs both: three more steps, no compression, and a model that learns less.',
      isChosen: (task) => noise(task) === 'distributed',
      choose: (task) => ({
        ...without(task, 'compression'),
        privacy: { kind: 'distributed', ...BUDGET, clipping_norm: 1 },
        protection: { secure_aggregation: {} },
        aggregator: { kind: 'uniform_mean' },
      }),
    },
  ],
};

function codec(title: string, text: string, name: string | undefined): Option {
  return {
    title,
    text,
    isChosen: (task) => (name === undefined ? !task['compression'] : table(task, 'compression')['codec'] === name),
    choose: (task) => (name === undefined ? without(task, 'compression') : { ...task, compression: { codec: name } }),
  };
}

const BYTES: Question = {
  title: 'How few bytes must a client send?',
  options: [
    codec('It does not matter', '32 bits for each value: exact.', undefined),
    codec('Half', '16 bits (bf16): hardly any loss.', 'bf16'),
    codec('An eighth', '4 bits (eden:4): a small loss, usually not visible.', 'eden:4'),
    codec('As few as possible', '1 bit (eden:1): a noticeable loss in each round, which more clients or rounds make up for.', 'eden:1'),
  ],
};

export const QUESTIONS: Question[] = [PREDICTS, CLIENTS, PRIVACY, BYTES];
