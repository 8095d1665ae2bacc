/** A cache of plans, models and weights by content hash, verified and limited in size. */

import type { Engine } from './engine.js';
import type { Traffic } from './limits.js';
import type { Storage } from './storage.js';
import { RequestError, type Transport } from './transport.js';

export interface Artifact {
  digest: string;
  bytes: number;
}

/** Data about each blob, stored separately so that the blobs need not be read to make room. */
type Index = Record<string, { bytes: number; usedAt: number }>;

/** The maximum number of bytes of all stored blobs. */
export const BYTES_MAX = 256 * 1024 * 1024;
/** The maximum number of stored blobs: a model, and the weights of some rounds. */
const BLOBS_MAX = 64;

export class Blobs {
  /** Blobs that the storage had no room for. They are kept in memory for the current assignment. */
  private readonly unstored = new Map<string, Uint8Array>();
  private turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly storage: Storage,
    private readonly engine: Engine,
    private readonly transport: Transport,
  ) {}

  /** Returns a blob if it is present and undamaged. */
  async read(digest: string): Promise<Uint8Array | undefined> {
    const unstored = this.unstored.get(digest);
    if (unstored !== undefined) {
      return unstored;
    }
    const stored = await this.storage.get<Uint8Array>('blobs', digest);
    if (stored !== undefined && this.engine.blobDigest(stored) !== digest) {
      await this.drop(digest);
      return undefined;
    }
    return stored;
  }

  /** Returns the total size of the blobs that seem to be missing. */
  async missingBytes(artifacts: Artifact[]): Promise<number> {
    const index = (await this.storage.get<Index>('state', 'blobs')) ?? {};
    const missing = artifacts.filter(({ digest }) => !(digest in index) && !this.unstored.has(digest));
    return missing.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns the concatenated blobs, or undefined if one is missing. */
  async readAll(artifacts: Artifact[]): Promise<Uint8Array | undefined> {
    const parts = await Promise.all(artifacts.map(({ digest }) => this.read(digest)));
    const [first] = parts;
    if (parts.length === 1 || first === undefined) {
      return first;
    }
    const all = new Uint8Array(parts.reduce((sum, part) => sum + (part?.byteLength ?? 0), 0));
    let at = 0;
    for (const part of parts) {
      if (part === undefined) {
        return undefined;
      }
      all.set(part, at);
      at += part.byteLength;
    }
    return all;
  }

  /** Makes sure that a blob is present, and returns the number of bytes fetched. Resumes an interrupted download. */
  async fetch(artifact: Artifact, signal: AbortSignal, traffic: Traffic): Promise<number> {
    if (artifact.bytes > BYTES_MAX) {
      throw new TooLargeError(`the blob has ${artifact.bytes} bytes, which is more than the cache may hold`);
    }
    const held = await this.read(artifact.digest);
    if (held !== undefined) {
      await this.inTurn(() => this.noteUse(artifact.digest, held.byteLength)).catch(() => undefined);
      return 0;
    }
    const partial = `${artifact.digest}.partial`;
    const bytes = new Uint8Array(artifact.bytes);
    const begun = await this.storage.get<Uint8Array>('blobs', partial);
    let at = 0;
    if (begun !== undefined && begun.byteLength < artifact.bytes) {
      bytes.set(begun);
      at = begun.byteLength;
    }
    const from = at;
    try {
      const fetched = await this.transport.blob(artifact, at, signal, traffic, (piece) => {
        bytes.set(piece, at);
        at += piece.byteLength;
      });
      await this.drop(partial);
      if (this.engine.blobDigest(bytes) !== artifact.digest) {
        throw this.transport.broken(`the bytes of blob ${artifact.digest} were damaged in transit`);
      }
      await this.keep(artifact.digest, bytes);
      return fetched;
    } catch (error) {
      const isWorthKeeping = at > 0 && at < artifact.bytes;
      const stays =
        isWorthKeeping &&
        (await this.put(partial, bytes.slice(0, at)).then(
          () => true,
          () => false,
        ));
      if (error instanceof RequestError) {
        error.refusal.failure.transferred_bytes = stays ? at - from : 0;
      }
      throw error;
    }
  }

  /** Forgets the blobs that are only in memory. */
  forgetUnstored(): void {
    this.unstored.clear();
  }

  private async keep(digest: string, bytes: Uint8Array): Promise<void> {
    try {
      await this.put(digest, bytes);
      this.unstored.delete(digest);
    } catch {
      this.unstored.set(digest, bytes);
      let held = Array.from(this.unstored.values()).reduce((sum, blob) => sum + blob.byteLength, 0);
      for (const [other, blob] of this.unstored) {
        if (held > BYTES_MAX && other !== digest) {
          held -= blob.byteLength;
          this.unstored.delete(other);
        }
      }
    }
  }

  private put(key: string, bytes: Uint8Array): Promise<void> {
    return this.inTurn(async () => {
      await this.noteUse(key, bytes.byteLength);
      await this.storage.put('blobs', bytes, key);
    });
  }

  private drop(key: string): Promise<void> {
    return this.inTurn(async () => {
      await this.storage.remove('blobs', key);
      const index = (await this.storage.get<Index>('state', 'blobs')) ?? {};
      if (key in index) {
        delete index[key];
        await this.storage.put('state', index, 'blobs');
      }
    });
  }

  /** Serializes changes of the index. Two concurrent changes could lose an entry, and its blob would stay forever. */
  private inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.turn.then(change);
    this.turn = changed.catch(() => undefined);
    return changed;
  }

  /** Records that a blob is used now. If the limits are exceeded, deletes the least recently used blobs. */
  private async noteUse(key: string, bytes: number): Promise<void> {
    const index = (await this.storage.get<Index>('state', 'blobs')) ?? {};
    index[key] = { bytes, usedAt: Date.now() };
    const byAge = Object.entries(index).sort(([, a], [, b]) => b.usedAt - a.usedAt);
    let held = 0;
    const excess = byAge.filter(([other, { bytes }], rank) => {
      held += bytes;
      return other !== key && (held > BYTES_MAX || rank >= BLOBS_MAX);
    });
    for (const [other] of excess) {
      await this.storage.remove('blobs', other);
      delete index[other];
    }
    await this.storage.put('state', index, 'blobs');
  }
}

/** The blob is too large to be stored. */
export class TooLargeError extends Error {}
