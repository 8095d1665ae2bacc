/** The limits that the app sets: on one assignment, and on the bytes of a day. */

import type { Engine } from './engine.js';
import type { Storage } from './storage.js';
import { FolkmootError, type Limits } from './types.js';

/** The limits of one assignment, as the engine reads them. */
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

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** The number of bytes after which the count is stored. A closed tab loses at most this much. */
const SAVED_EVERY = 256 * 1024;
/** The storage key. */
const KEY = 'day_bytes';

interface Used {
  /** The number of days since 1970-01-01 (UTC). */
  day: number;
  bytes: number;
  /**
   * Whether the day is treated as used up before its limit is reached, because an assignment needed more than was left.
   */
  isSpent: boolean;
}

/**
 * Counts the bytes that a client sends and fetches per day, if the app sets a limit. Another tab of the client may count, too.
 */
export class DayBytes {
  private used: Used = { day: 0, bytes: 0, isSpent: false };
  private unsaved = 0;

  constructor(
    private readonly storage: Storage,
    private readonly limit: number | undefined,
  ) {
    if (limit !== undefined && !(limit >= 1)) {
      throw new FolkmootError('bad_option', `limits.bytesPerDay is ${limit}; it must be at least 1`);
    }
  }

  /** Continues the count of this or another tab. */
  async load(): Promise<void> {
    if (this.limit !== undefined) {
      this.used = (await this.storage.get<Used>('state', KEY)) ?? this.used;
    }
  }

  count(bytes: number): void {
    this.today().bytes += bytes;
    this.unsaved += bytes;
    if (this.unsaved >= SAVED_EVERY) {
      void this.save();
    }
  }

  /** Stores the count if it has changed. If that fails, counting continues in memory. */
  async save(): Promise<void> {
    if (this.limit !== undefined && this.unsaved > 0) {
      await this.store();
    }
  }

  private async store(): Promise<void> {
    this.unsaved = 0;
    await this.storage.put('state', this.today(), KEY).catch((error: unknown) => {
      console.warn('folkmoot: could not store the traffic of the day; it is counted from zero after a reload', error);
    });
  }

  /**
   * Returns the time at which to ask for an assignment again, in milliseconds since 1970, if the day's limit is used
   * up; otherwise null.
   */
  spentUntil(): number | null {
    const { day, bytes, isSpent } = this.today();
    const isOver = this.limit !== undefined && (isSpent || bytes >= this.limit);
    return isOver ? (day + 1) * DAY_MILLISECONDS : null;
  }

  /**
   * Returns whether the day's limit has room for this many bytes. If not, marks the day as used up, because the next
   * assignment would need about as many bytes.
   */
  async allows(bytes: number): Promise<boolean> {
    if (this.hasRoomFor(bytes)) {
      return true;
    }
    this.today().isSpent = true;
    await this.store();
    return false;
  }

  /** Returns whether the day's limit has room for this many bytes. Has no side effect. */
  hasRoomFor(bytes: number): boolean {
    return this.limit === undefined || this.today().bytes + bytes <= this.limit;
  }

  private today(): Used {
    const day = Math.floor(Date.now() / DAY_MILLISECONDS);
    if (this.used.day !== day) {
      this.used = { day, bytes: 0, isSpent: false };
    }
    return this.used;
  }
}

/** The traffic of one request, which is added to the day's. A failed request is counted as if it was sent whole. */
export class Traffic {
  sent = 0;
  received = 0;

  constructor(private readonly day: DayBytes) {}

  countSent(bytes: number): void {
    this.sent += bytes;
    this.day.count(bytes);
  }

  countReceived(bytes: number): void {
    this.received += bytes;
    this.day.count(bytes);
  }
}
