/** The interface of an app's own training loop. */

import type { Plan } from '../types.js';

/** One tensor of a model's weights. */
export interface Tensor {
  /** The dimensions, outermost first; empty for a scalar. */
  shape: number[];
  /** The values in row-major order. */
  values: Float32Array;
}

/** The inputs of a trainer: the weights to start from, the plan, and whether to stop. */
export interface TrainerWork {
  readonly assignmentId: string;
  readonly taskId: string;
  readonly roundNumber: number;
  /** The model version that training starts from. */
  readonly baseVersion: number;
  /** The plan. Follow the settings of `plan.training` as far as you can. */
  readonly plan: Plan;
  /** The weights to start from, by their names in the ONNX file. You may train in place. */
  readonly weights: Record<string, Tensor>;
  /** Aborted when the assignment is cancelled. The loop's result is then discarded. */
  readonly signal: AbortSignal;
  /**
   * True if the loop must end early: the coordinator wants a partial update, or the time for training is up. Then return
   * the weights so far, with the number of examples used. Check this between steps.
   */
  readonly isAsked: boolean;
  /**
   * Resolves to true if the assignment was cancelled. Await it between steps, at least every 250 ms: while training is
   * paused, it resolves only when the pause ends.
   */
  isStopped(): Promise<boolean>;
}

/** The result of a training. */
export interface Trained {
  /** The new values of every tensor, by name: flat in row-major order, or as a {@link Tensor} of the same shape. */
  weights: Record<string, Tensor | ArrayLike<number>>;
  /** The number of examples used, at least 1. It is also the update's weight in the mean, up to the plan's limit. */
  exampleCount: number;
  /** The mean loss per example during the training. */
  loss: number;
  /** The number of correct predictions. Default: 0. */
  correctCount?: number;
  /** The number of steps. Default: 0. */
  stepCount?: number;
}

/** The result of an evaluation. */
export interface Evaluated {
  /** The number of examples, at least 1. */
  exampleCount: number;
  /** The mean loss per example. */
  loss: number;
  /** The number of correct predictions. Default: 0. */
  correctCount?: number;
}

/**
 * The app's own training loop, used instead of the engine. It runs in the page and receives and returns weights. The
 * client still does the clipping, noise, compression, masks and upload.
 */
export interface Trainer {
  /** Returns the number of examples available for training, which the client sends with its check-in. */
  exampleCount(): number | Promise<number>;
  /** Trains from `work.weights`. If it throws an error, the client gives up the assignment. */
  train(work: TrainerWork): Promise<Trained>;
  /** Measures `work.weights` without training. Without it, or if it returns null, the engine evaluates `client.examples`. */
  evaluate?(work: TrainerWork): Promise<Evaluated | null>;
}

/** The inputs of a loop, as the worker sends them. */
export interface LoopInput {
  assignmentId: string;
  taskId: string;
  roundNumber: number;
  baseVersion: number;
  plan: Plan;
  tensors: { name: string; shape: number[] }[];
  /** All tensors, one after the other. */
  weights: Float32Array;
}

/** The result of a loop, as the page sends it. */
export interface LoopResult {
  /** All tensors, one after the other. Empty for an evaluation. */
  weights: Float32Array;
  exampleCount: number;
  lossSum: number;
  correctCount: number;
  stepCount: number;
}
