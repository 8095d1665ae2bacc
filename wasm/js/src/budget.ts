/** The limits of one assignment, in the words of the engine. */

import type { Engine } from './engine.js';
import { FolkmootError, type Limits } from './types.js';

export interface Budget {
  /** All limits as JSON, without those that the app left to their defaults. */
  json: string;
  /** Bytes that the model and its weights may have. */
  modelBytesMax: number;
}

/** Reads the app's limits. Throws if one makes no sense. */
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
    return { json, modelBytesMax: engine.checkBudget(json) };
  } catch (error) {
    throw new FolkmootError('bad_option', `limits: ${error instanceof Error ? error.message : String(error)}`);
  }
}
