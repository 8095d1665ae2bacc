/** Stores the files of assignments, and compression residuals by task. */

import type { Storage } from './storage.js';

/** The maximum number of memories that are kept. More would fill the device with data of tasks that have ended. */
const MEMORIES_MAX = 4;
/** The maximum number of bytes of all memories together. The oldest are deleted first. */
const BYTES_MAX = 256 * 1024 * 1024;
/** The maximum age of a memory in milliseconds: 30 days. Older memories are no longer useful. */
const AGE_MILLISECONDS_MAX = 30 * 24 * 3600 * 1000;

interface Memory {
  bytes: Uint8Array;
  at: number;
}

/** Deletes the checkpoint, the update and the pending memory of an assignment. */
export async function forgetWork(storage: Storage, assignmentId: string): Promise<void> {
  // All keys of an assignment start with its id and a dot. The slash is the character after the dot.
  await storage.remove('work', IDBKeyRange.bound(`${assignmentId}.`, `${assignmentId}/`, false, true));
}

/** Deletes the data of all assignments except this one. */
export async function forgetAllBut(storage: Storage, kept: string | null): Promise<void> {
  for (const key of await storage.keys('work')) {
    if (kept === null || !String(key).startsWith(`${kept}.`)) {
      await storage.remove('work', key);
    }
  }
}

/**
 * Makes the residual of an accepted update the task's memory. If it is unknown whether the update was accepted, deletes
 * the task's memory, because parts of the update may have arrived. Calling it again has no effect.
 */
export async function settleMemory(storage: Storage, assignmentId: string, wasAccepted: boolean | null): Promise<void> {
  const key = `${assignmentId}.memory`;
  const pending = await storage.get<{ task: string; bytes: Uint8Array }>('work', key);
  if (pending === undefined || wasAccepted === false) {
    return;
  }
  if (wasAccepted === null) {
    await storage.remove('memories', pending.task);
    return;
  }
  await storage.put('memories', { bytes: pending.bytes, at: Date.now() } satisfies Memory, pending.task);
  await storage.remove('work', key);
  await trimMemories(storage, 0);
}

/** Deletes memories that are too old. */
export function forgetOldMemories(storage: Storage): Promise<void> {
  return trimMemories(storage, Date.now() - AGE_MILLISECONDS_MAX);
}

/** Deletes memories from before `oldest`, and the oldest ones above the limits. */
async function trimMemories(storage: Storage, oldest: number): Promise<void> {
  const [keys, memories] = [await storage.keys('memories'), await storage.all<Memory>('memories')];
  const all = keys.map((task, index) => ({ task, at: memories[index]?.at ?? 0, bytes: memories[index]?.bytes }));
  let held = 0;
  for (const [rank, { task, at, bytes }] of all.sort((a, b) => b.at - a.at).entries()) {
    held += bytes?.byteLength ?? 0;
    if (rank >= MEMORIES_MAX || held > BYTES_MAX || at < oldest) {
      await storage.remove('memories', task);
    }
  }
}

/** Deletes everything computed from the examples: memories, checkpoints and updates. */
export async function forgetAllMade(storage: Storage): Promise<void> {
  await storage.clear('memories');
  await storage.clear('work');
}

/** Returns the compression residual of a task's earlier updates. */
export async function loadMemory(storage: Storage, task: string): Promise<Uint8Array | undefined> {
  return (await storage.get<Memory>('memories', task))?.bytes;
}
