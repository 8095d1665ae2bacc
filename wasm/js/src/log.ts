/** The transparency log: what was trained, what was sent, when, how many bytes. It never leaves the device. */

import type { Storage } from './storage.js';
import type { LogEntry } from './types.js';

/** Entries that are kept; the oldest goes first. */
const ENTRIES_MAX = 2000;

/** An entry that was written, and where. */
export interface Written {
  key: IDBValidKey;
  entry: LogEntry;
}

export class Log {
  private isClosed = false;

  constructor(private readonly storage: Storage) {}

  /** Writes an entry. One that cannot be written does not stop anything. */
  async write(entry: Omit<LogEntry, 'at'>): Promise<Written | null> {
    const dated = { at: Date.now(), ...entry };
    try {
      const key = await this.storage.put('log', dated);
      let excess = (await this.storage.count('log')) - ENTRIES_MAX;
      if (excess > 0) {
        await this.storage.visit<LogEntry>('log', (_, remove) => {
          remove();
          excess -= 1;
          return excess > 0;
        });
      }
      return { key, entry: dated };
    } catch (error) {
      this.warn(error);
      return null;
    }
  }

  /** Notes how many of the bytes that were to go have arrived, as the coordinator says. */
  async arrived({ key, entry }: Written, bytesArrived: number): Promise<void> {
    await this.storage.put('log', { ...entry, bytesArrived }, key).catch((error: unknown) => this.warn(error));
  }

  private warn(error: unknown): void {
    if (!this.isClosed) {
      console.warn('folkmoot: the transparency log cannot be written', error);
    }
  }

  /** What was under way when everything was deleted has nowhere to be noted. */
  close(): void {
    this.isClosed = true;
  }

  read(): Promise<LogEntry[]> {
    return this.storage.all<LogEntry>('log');
  }
}
