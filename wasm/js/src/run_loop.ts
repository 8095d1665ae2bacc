/** The worker's side of an app's own training loop: its inputs, and its result. */

import { AnswerError, type Assignment } from './effects.js';
import type { AssignedWork } from './gpu/folkmoot.js';
import type { LoopInput, LoopResult } from './page/trainer.js';
import type { Plan } from './types.js';

/** The time after which a timer would overflow, in milliseconds. */
const TIMER_MILLISECONDS_MAX = 2 ** 31 - 1;

/** Asks the page's loop. `stop` ends it without a result, and `finish` early. */
export type AskLoop = (name: 'train' | 'evaluate', input: LoopInput, stop: AbortSignal, finish: AbortSignal) => Promise<LoopResult | null>;

/** The app's own loop, as the worker sees it. */
export interface Loop {
  /** Whether it also evaluates. */
  evaluates: boolean;
  run: AskLoop;
}

/**
 * Lets the page do the work, and returns whether it did: a loop may leave an evaluation to the engine. `asked` asks for
 * the result so far; so does the end of the time for training.
 */
export async function runLoop(
  loop: Loop,
  task: AssignedWork,
  { assignment, plan, secondsMax }: { assignment: Assignment; plan: Plan; secondsMax: number },
  signal: AbortSignal,
  asked: AbortSignal,
): Promise<boolean> {
  const input: LoopInput = {
    assignmentId: assignment.assignment_id,
    taskId: assignment.task_id,
    roundNumber: assignment.round_number,
    baseVersion: assignment.base_version,
    plan,
    tensors: tensorsOf(task),
    weights: task.startingWeights(),
  };
  const seconds = Math.min(plan.training.time_limit_seconds ?? Infinity, secondsMax);
  const time = AbortSignal.timeout(Math.min(seconds * 1000, TIMER_MILLISECONDS_MAX));
  const name = plan.work === 'evaluation' ? 'evaluate' : 'train';
  const result = await loop.run(name, input, signal, AbortSignal.any([asked, time])).catch((error: unknown) => {
    signal.throwIfAborted();
    console.warn('folkmoot: the trainer failed, so the assignment is given up', error);
    const detail = "the app's own training loop failed; see the browser's console";
    throw new AnswerError({ work_failed: { reason: 'training_failed', detail } });
  });
  signal.throwIfAborted();
  if (result === null) {
    return false;
  }
  const { weights, exampleCount, lossSum, correctCount, stepCount } = result;
  task.finishOwn(weights, exampleCount, lossSum, correctCount, stepCount);
  return true;
}

function tensorsOf(task: AssignedWork): LoopInput['tensors'] {
  const tensors: LoopInput['tensors'] = [];
  for (let name = task.tensorName(0); name !== undefined; name = task.tensorName(tensors.length)) {
    tensors.push({ name, shape: Array.from(task.tensorShape(tensors.length)) });
  }
  return tensors;
}
