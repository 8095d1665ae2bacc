/** What belongs to assignments, and what updates of a task left out. */

import type { Storage } from './storage.js';

/** Memories of tasks that are kept; more would fill the device for tasks that are over. */
const MEMORIES_MAX = 4;
/** Bytes of all memories together; the oldest go first. */
const BYTES_MAX = 256 * 1024 * 1024;
/** After so long a memory is too old to be of use, whatever became of its task: 30 days. */
const AGE_MILLISECONDS_MAX = 30 * 24 * 3600 * 1000;

interface Memory {
  bytes: Uint8Array;
  at: number;
}

/** Deletes checkpoint, update and pending memory of an assignment. */
export async function forgetWork(storage: Storage, assignmentId: string): Promise<void> {
  // All keys of an assignment begin with its id and a dot; a slash is the character after the dot.
  await storage.remove('work', IDBKeyRange.bound(`${assignmentId}.`, `${assignmentId}/`, false, true));
}

/** Deletes what belongs to no assignment but this one. */
export async function forgetAllBut(storage: Storage, kept: string | null): Promise<void> {
  for (const key of await storage.keys('work')) {
    if (kept === null || !String(key).startsWith(`${kept}.`)) {
      await storage.remove('work', key);
    }
  }
}

/**
 * Makes what an accepted update has left out the task's memory. Where it is not known whether the update was accepted, the
 * task's memory goes, since some of it may have arrived. It may be called again.
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

/** Deletes what is too much, from the oldest on, and what is from before `oldest`. */
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

/** Deletes everything that was made of the examples: memories, checkpoints and updates. */
export async function forgetAllMade(storage: Storage): Promise<void> {
  await storage.clear('memories');
  await storage.clear('work');
}

/** Returns what earlier updates of a task left out. */
export async function loadMemory(storage: Storage, task: string): Promise<Uint8Array | undefined> {
  return (await storage.get<Memory>('memories', task))?.bytes;
}
