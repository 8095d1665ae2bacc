/** The transparency log: what was trained and sent, when, and how many bytes. It never leaves the device. */

import { type DayBytes, Traffic } from './limits.js';
import type { Storage } from './storage.js';
import type { LogEntry } from './types.js';

/** The maximum number of entries. The oldest are deleted first. */
const ENTRIES_MAX = 2000;

/** A written entry and its key. */
export interface Written {
  key: IDBValidKey;
  entry: LogEntry;
}

export class Log {
  private isClosed = false;

  constructor(private readonly storage: Storage) {}

  /** Writes an entry. If that fails, the client continues. */
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

  /** Records how many of the bytes to send have arrived, according to the coordinator. */
  async arrived({ key, entry }: Written, bytesArrived: number): Promise<void> {
    await this.storage.put('log', { ...entry, bytesArrived }, key).catch((error: unknown) => this.warn(error));
  }

  private warn(error: unknown): void {
    if (!this.isClosed) {
      console.warn('folkmoot: could not write the transparency log', error);
    }
  }

  /** Stops writing. Work that was in progress when everything was deleted is not logged. */
  close(): void {
    this.isClosed = true;
  }

  read(): Promise<LogEntry[]> {
    return this.storage.all<LogEntry>('log');
  }
}

/** Performs a request and logs what it sent and received, even if it failed. */
export async function sendLogged<T>(
  host: { day: DayBytes; log: Log },
  entry: Pick<LogEntry, 'action' | 'taskId' | 'roundNumber' | 'detail'>,
  request: (traffic: Traffic) => Promise<T>,
): Promise<T> {
  const traffic = new Traffic(host.day);
  try {
    return await request(traffic);
  } finally {
    await host.day.save();
    if (traffic.sent > 0 || traffic.received > 0) {
      await host.log.write({ ...entry, bytesSent: traffic.sent, bytesReceived: traffic.received });
    }
  }
}
