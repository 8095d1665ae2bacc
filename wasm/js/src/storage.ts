/** IndexedDB storage for everything that a client keeps. */

import { FolkmootError } from './types.js';

const VERSION = 1;
const STORES = ['state', 'blobs', 'work', 'memories', 'examples', 'log'] as const;
/** Stores with auto-incremented keys. */
const COUNTED: readonly string[] = ['examples', 'log'];

export type StoreName = (typeof STORES)[number];

export function databaseName(name: string): string {
  return `folkmoot-${name}`;
}

/** A client's database. A write is durable when its promise resolves. */
export class Storage {
  private constructor(private readonly database: IDBDatabase) {}

  static open(name: string): Promise<Storage> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(databaseName(name), VERSION);
      request.onupgradeneeded = () => {
        for (const store of STORES) {
          request.result.createObjectStore(store, { autoIncrement: COUNTED.includes(store) });
        }
      };
      request.onerror = () => reject(failure(request.error));
      request.onsuccess = () => {
        const database = request.result;
        // Let another tab delete the database.
        database.onversionchange = () => database.close();
        resolve(new Storage(database));
      };
    });
  }

  /** Deletes the database of this name. */
  static remove(name: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(databaseName(name));
      request.onerror = () => reject(failure(request.error));
      request.onsuccess = () => resolve();
    });
  }

  get<T>(store: StoreName, key: IDBValidKey): Promise<T | undefined> {
    return this.run(store, 'readonly', (objects) => objects.get(key) as IDBRequest<T | undefined>);
  }

  put(store: StoreName, value: unknown, key?: IDBValidKey): Promise<IDBValidKey> {
    return this.run(store, 'readwrite', (objects) => objects.put(value, key));
  }

  remove(store: StoreName, key: IDBValidKey | IDBKeyRange): Promise<undefined> {
    return this.run(store, 'readwrite', (objects) => objects.delete(key));
  }

  count(store: StoreName): Promise<number> {
    return this.run(store, 'readonly', (objects) => objects.count());
  }

  clear(store: StoreName): Promise<undefined> {
    return this.run(store, 'readwrite', (objects) => objects.clear());
  }

  keys(store: StoreName): Promise<IDBValidKey[]> {
    return this.run(store, 'readonly', (objects) => objects.getAllKeys());
  }

  all<T>(store: StoreName): Promise<T[]> {
    return this.run(store, 'readonly', (objects) => objects.getAll() as IDBRequest<T[]>);
  }

  /** Stores several values under auto-incremented keys: all of them or none. */
  putAll(store: StoreName, values: unknown[]): Promise<undefined> {
    return this.run(store, 'readwrite', (objects) => {
      for (const value of values) {
        objects.put(value);
      }
      return null;
    });
  }

  /** Visits a store from its oldest entry on, until `visit` returns `false`. `remove` deletes the current entry. */
  visit<T>(store: StoreName, visit: (value: T, remove: () => void) => boolean): Promise<undefined> {
    return this.run(store, 'readwrite', (objects) => {
      const request = objects.openCursor();
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor !== null && visit(cursor.value as T, () => cursor.delete())) {
          cursor.continue();
        }
      };
      return null;
    });
  }

  close(): void {
    this.database.close();
  }

  private run<T>(store: StoreName, mode: IDBTransactionMode, begin: (objects: IDBObjectStore) => IDBRequest<T> | null): Promise<T> {
    return new Promise((resolve, reject) => {
      try {
        const transaction = this.database.transaction(store, mode, { durability: 'strict' });
        const request = begin(transaction.objectStore(store));
        transaction.oncomplete = () => resolve(request?.result as T);
        transaction.onabort = () => reject(failure(transaction.error));
      } catch (error) {
        reject(failure(error));
      }
    });
  }
}

function failure(error: unknown): FolkmootError {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'QuotaExceededError') {
    return new FolkmootError('storage_full', 'the browser has no room left for this site');
  }
  return new FolkmootError('storage_failed', `the browser's storage failed: ${String(error)}`);
}
