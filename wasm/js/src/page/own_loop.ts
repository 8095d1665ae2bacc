/** The page's side of an app's own training loop: calls the app, and checks what it returns. */

import { FolkmootError } from '../types.js';
import type { Evaluated, LoopInput, LoopResult, Tensor, Trained, Trainer, TrainerWork } from './trainer.js';

/** Throws an error if an object is not a trainer, for callers that do not use TypeScript. */
export function checkTrainer(trainer: Partial<Trainer>): void {
  const missing = (['exampleCount', 'train'] as const).find((name) => typeof trainer[name] !== 'function');
  if (missing !== undefined) {
    throw new FolkmootError('bad_option', `options.trainer has no function \`${missing}\`; give it one`);
  }
}

export class OwnLoop {
  /** The works that the app is doing, by the worker's question. */
  private readonly works = new Map<number, Work>();

  /** `untilAllowed` resolves when training may continue, or when its signal is aborted. */
  constructor(
    private readonly trainer: Trainer,
    private readonly untilAllowed: (signal: AbortSignal) => Promise<void>,
  ) {}

  async exampleCount(): Promise<number> {
    return checkedCount('exampleCount()', await this.trainer.exampleCount(), 0);
  }

  train(id: number, input: LoopInput): Promise<LoopResult> {
    return this.during(id, input, async (work) => {
      const trained = await this.trainer.train(work);
      return { ...measured(trained, 'train'), weights: joined(trained.weights, input) };
    });
  }

  evaluate(id: number, input: LoopInput): Promise<LoopResult | null> {
    return this.during(id, input, async (work) => {
      const evaluated = (await this.trainer.evaluate?.(work)) ?? null;
      return evaluated === null ? null : measured(evaluated, 'evaluate');
    });
  }

  /** Ends the app's work: early and with a result, or without one. */
  tell(id: number, word: 'finish' | 'stop'): void {
    const work = this.works.get(id);
    if (word === 'finish') {
      work?.ask();
    } else {
      work?.stop();
    }
  }

  /** Stops everything. */
  end(): void {
    this.works.forEach((work) => work.stop());
  }

  private async during<T>(id: number, input: LoopInput, run: (work: Work) => Promise<T>): Promise<T> {
    const work = new Work(input, this.untilAllowed);
    this.works.set(id, work);
    try {
      return await run(work);
    } finally {
      this.works.delete(id);
    }
  }
}

class Work implements TrainerWork {
  readonly assignmentId: string;
  readonly taskId: string;
  readonly roundNumber: number;
  readonly baseVersion: number;
  readonly plan: TrainerWork['plan'];
  readonly weights: Record<string, Tensor>;
  private readonly stopped = new AbortController();
  private asked = false;

  constructor(
    input: LoopInput,
    private readonly untilAllowed: (signal: AbortSignal) => Promise<void>,
  ) {
    ({ assignmentId: this.assignmentId, taskId: this.taskId } = input);
    ({ roundNumber: this.roundNumber, baseVersion: this.baseVersion, plan: this.plan } = input);
    let at = 0;
    const tensors = input.tensors.map(({ name, shape }): [string, Tensor] => {
      const values = input.weights.slice(at, at + sizeOf(shape));
      at += values.length;
      return [name, { shape, values }];
    });
    this.weights = Object.fromEntries(tensors);
  }

  get signal(): AbortSignal {
    return this.stopped.signal;
  }

  get isAsked(): boolean {
    return this.asked;
  }

  async isStopped(): Promise<boolean> {
    await this.untilAllowed(this.signal);
    return this.signal.aborted;
  }

  ask(): void {
    this.asked = true;
  }

  stop(): void {
    this.stopped.abort();
  }
}

/** Returns the counts of a result. Throws an error that says which one is wrong. */
function measured(result: Trained | Evaluated, name: string): LoopResult {
  if (typeof result !== 'object' || result === null) {
    throw new TypeError(`the trainer's \`${name}\` returned ${String(result)}; return an object with exampleCount and loss`);
  }
  const { exampleCount, loss, correctCount = 0, stepCount = 0 }: Trained | (Evaluated & { stepCount?: number }) = result;
  checkedCount('exampleCount', exampleCount, 1);
  if (checkedCount('correctCount', correctCount, 0) > exampleCount) {
    throw new TypeError(`the trainer returned ${correctCount} as correctCount; it must be at most exampleCount, ${exampleCount}`);
  }
  checkedCount('stepCount', stepCount, 0);
  if (!Number.isFinite(loss) || loss < 0) {
    throw new TypeError(`the trainer returned the loss ${loss}; it must be a finite number of at least 0: the mean per example`);
  }
  return { weights: new Float32Array(), exampleCount, lossSum: loss * exampleCount, correctCount, stepCount };
}

function checkedCount(name: string, count: number, min: number): number {
  if (!Number.isSafeInteger(count) || count < min) {
    throw new TypeError(`the trainer returned ${count} as ${name}; it must be a whole number of at least ${min}`);
  }
  return count;
}

/** Copies the weights one after the other. Throws an error if their names, shapes or lengths are not the model's. */
function joined(given: Trained['weights'], { tensors, weights: { length } }: LoopInput): Float32Array {
  const [found, expected] = [Object.keys(given ?? {}), tensors.map(({ name }) => name)];
  if (found.length !== expected.length || !expected.every((name) => Object.hasOwn(given, name))) {
    throw new TypeError(`the trainer returned the weights [${found.join(', ')}]; the model has [${expected.join(', ')}]`);
  }
  const all = new Float32Array(length);
  let at = 0;
  for (const { name, shape } of tensors) {
    const tensor: unknown = given[name];
    const { values, found } = valuesOf(tensor);
    if (values?.length !== sizeOf(shape) || (found !== null && String(found) !== String(shape))) {
      const size = values === null ? 'no values' : found === null ? `${values.length} values` : `the shape [${found}]`;
      const expected = `a flat array of ${sizeOf(shape)} values, or { shape: [${shape}], values }`;
      throw new TypeError(`the trainer returned \`${name}\` with ${size}; it must be ${expected}`);
    }
    all.set(values, at);
    at += values.length;
  }
  return all;
}

/** Returns the values that an app gave for a tensor, and their shape if it gave one. */
function valuesOf(tensor: unknown): { values: ArrayLike<number> | null; found: unknown } {
  const isFlat = Array.isArray(tensor) || ArrayBuffer.isView(tensor);
  const { shape, values } = isFlat ? { shape: null, values: tensor } : ((tensor ?? {}) as Partial<Tensor>);
  const isList = Array.isArray(values) || ArrayBuffer.isView(values);
  return { values: isList ? (values as ArrayLike<number>) : null, found: shape ?? null };
}

function sizeOf(shape: number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
