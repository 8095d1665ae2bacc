/** The limits of one assignment, in the words of the engine. */

import type { Engine } from './engine.js';
import { FolkmootError, type Limits } from './types.js';

/** The limits as JSON, without those that the app left to their defaults. Throws if one makes no sense. */
export function budgetOf(engine: Engine, limits: Limits = {}): string {
  const budget = JSON.stringify({
    memory_bytes_max: limits.memoryBytesMax,
    model_bytes_max: limits.modelBytesMax,
    training_seconds_max: limits.trainingSecondsMax,
    parameters_max: limits.parametersMax,
    operations_max: limits.operationsMax,
    cohort_min: limits.cohortMin,
    protection_min: limits.protectionMin,
  });
  try {
    engine.checkBudget(budget);
  } catch (error) {
    throw new FolkmootError('bad_option', `limits: ${error instanceof Error ? error.message : String(error)}`);
  }
  return budget;
}
