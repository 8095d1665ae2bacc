/** The limits of one assignment, as the engine reads them. */

import type { Engine } from './engine.js';
import { FolkmootError, type Limits } from './types.js';

export interface Budget {
  /** All limits as JSON, except those that the app left at their defaults. */
  json: string;
  /** The maximum number of bytes of model and weights. */
  modelBytesMax: number;
  /** The maximum number of seconds of training in the app's own loop. */
  trainingSecondsMax: number;
}

/** The engine's default for the seconds of training. */
const TRAINING_SECONDS_MAX = 3600;

/** Reads the app's limits. Throws an error if one is invalid. */
export function budgetOf(engine: Engine, limits: Limits = {}): Budget {
  const json = JSON.stringify({
    memory_bytes_max: limits.memoryBytesMax,
    model_bytes_max: limits.modelBytesMax,
    training_seconds_max: limits.trainingSecondsMax,
    parameters_max: limits.parametersMax,
    operations_max: limits.operationsMax,
    cohort_min: limits.cohortMin,
    protection_min: limits.protectionMin,
  });
  try {
    return { json, modelBytesMax: engine.checkBudget(json), trainingSecondsMax: limits.trainingSecondsMax ?? TRAINING_SECONDS_MAX };
  } catch (error) {
    throw new FolkmootError('bad_option', `limits: ${error instanceof Error ? error.message : String(error)}`);
  }
}
