/** How many bytes a client sends and fetches in a day, where its app gives a limit. */

import type { Storage } from './storage.js';
import { FolkmootError } from './types.js';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** Bytes after which the count is stored: a tab that is closed forgets no more. */
const SAVED_EVERY = 256 * 1024;
/** Its place among what is stored. */
const KEY = 'day_bytes';

interface Used {
  /** Days since 1970 (UTC). */
  day: number;
  bytes: number;
  /** The day is over, though something is left of it: too little for what is asked for. */
  isSpent: boolean;
}

/** Counts for the one tab of a client that takes part. */
export class DayBytes {
  private used: Used = { day: 0, bytes: 0, isSpent: false };
  private unsaved = 0;

  constructor(
    private readonly storage: Storage,
    private readonly limit: number | undefined,
  ) {
    if (limit !== undefined && !(limit >= 1)) {
      throw new FolkmootError('bad_option', `limits.bytesPerDay is ${limit}: give a number of bytes, at least 1`);
    }
  }

  /** Goes on with what this tab or another has counted. */
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

  /** Stores what was counted since it was stored last. Where that is not possible it counts on in memory. */
  async save(): Promise<void> {
    if (this.limit !== undefined && this.unsaved > 0) {
      await this.store();
    }
  }

  private async store(): Promise<void> {
    this.unsaved = 0;
    await this.storage.put('state', this.today(), KEY).catch((error: unknown) => {
      console.warn('folkmoot: the bytes of the day could not be stored; a reload would count anew', error);
    });
  }

  /** When to ask for an assignment again, in milliseconds since 1970, if nothing is left of the day. */
  spentUntil(): number | null {
    const { day, bytes, isSpent } = this.today();
    const isOver = this.limit !== undefined && (isSpent || bytes >= this.limit);
    return isOver ? (day + 1) * DAY_MILLISECONDS : null;
  }

  /** Whether so many bytes more are within the day's. If not, the day is over: what is asked for tomorrow is much the same. */
  async allows(bytes: number): Promise<boolean> {
    if (this.hasRoomFor(bytes)) {
      return true;
    }
    this.today().isSpent = true;
    await this.store();
    return false;
  }

  /** Whether so many bytes more are within the day's; nothing follows from it. */
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

/** Bytes of messages and blobs that went, or were to go, and came: of one request, and of the day. */
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
