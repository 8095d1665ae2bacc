/** Plans, models and weights by content, verified, bounded in bytes. */

import type { Engine } from './engine.js';
import type { Storage } from './storage.js';
import { RequestError, type Transport } from './transport.js';

export interface Artifact {
  digest: string;
  bytes: number;
}

interface Stored {
  bytes: Uint8Array;
  usedAt: number;
}

/** Bytes of all blobs that are kept. */
const BYTES_MAX = 256 * 1024 * 1024;

export class Blobs {
  /** What storage had no room for: it is there for the assignment under way. */
  private readonly unstored = new Map<string, Uint8Array>();

  constructor(
    private readonly storage: Storage,
    private readonly engine: Engine,
    private readonly transport: Transport,
  ) {}

  /** Returns a blob that is there and whole. */
  async read(digest: string): Promise<Uint8Array | undefined> {
    const unstored = this.unstored.get(digest);
    if (unstored !== undefined) {
      return unstored;
    }
    const stored = await this.storage.get<Stored>('blobs', digest);
    if (stored === undefined) {
      return undefined;
    }
    if (this.engine.blobDigest(stored.bytes) !== digest) {
      await this.storage.remove('blobs', digest);
      return undefined;
    }
    return stored.bytes;
  }

  /** Has a blob here and returns the bytes that had to be fetched. What a broken connection brought is gone on with. */
  async fetch(artifact: Artifact, signal: AbortSignal): Promise<number> {
    if (artifact.bytes > BYTES_MAX) {
      throw new TooLargeError(`a blob of ${artifact.bytes} bytes is larger than the cache`);
    }
    const held = await this.read(artifact.digest);
    if (held !== undefined) {
      await this.keep(artifact.digest, held);
      return 0;
    }
    const partial = `${artifact.digest}.partial`;
    const bytes = new Uint8Array(artifact.bytes);
    const begun = await this.storage.get<Stored>('blobs', partial);
    let at = 0;
    if (begun !== undefined && begun.bytes.byteLength < artifact.bytes) {
      bytes.set(begun.bytes);
      at = begun.bytes.byteLength;
    }
    try {
      const fetched = await this.transport.blob(artifact, at, signal, (piece) => {
        bytes.set(piece, at);
        at += piece.byteLength;
      });
      await this.storage.remove('blobs', partial);
      if (this.engine.blobDigest(bytes) !== artifact.digest) {
        const network = JSON.parse(this.engine.failureOf(undefined)) as RequestError['refusal'];
        throw new RequestError(network, `the bytes of blob ${artifact.digest} were damaged on the way`);
      }
      await this.keep(artifact.digest, bytes);
      return fetched;
    } catch (error) {
      const isWorthKeeping = at > 0 && at < artifact.bytes;
      if (isWorthKeeping) {
        await this.storage.put('blobs', { bytes: bytes.slice(0, at), usedAt: Date.now() }, partial).catch(() => undefined);
      }
      throw error;
    }
  }

  /** Lets go of what is in memory only. */
  forgetUnstored(): void {
    this.unstored.clear();
  }

  private async keep(digest: string, bytes: Uint8Array): Promise<void> {
    try {
      await this.makeRoom(bytes.byteLength, digest);
      await this.storage.put('blobs', { bytes, usedAt: Date.now() } satisfies Stored, digest);
      this.unstored.delete(digest);
    } catch {
      this.unstored.set(digest, bytes);
    }
  }

  /** Deletes what was not used for longest. */
  private async makeRoom(bytes: number, except: string): Promise<void> {
    const keys = await this.storage.keys('blobs');
    const blobs = await this.storage.all<Stored>('blobs');
    const entries = keys.map((key, index) => ({ key, blob: blobs[index] as Stored }));
    const others = entries.filter((entry) => entry.key !== except);
    others.sort((a, b) => a.blob.usedAt - b.blob.usedAt);
    let held = others.reduce((sum, entry) => sum + entry.blob.bytes.byteLength, 0);
    for (const entry of others) {
      if (held + bytes <= BYTES_MAX) {
        break;
      }
      await this.storage.remove('blobs', entry.key);
      held -= entry.blob.bytes.byteLength;
    }
  }
}

/** A blob that can never be here. */
export class TooLargeError extends Error {}
