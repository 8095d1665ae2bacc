/** Stores the files of assignments, and compression residuals and the client's own tensors by task. */

import type { Storage } from './storage.js';

/** The maximum number of memories of a kind that are kept. More would fill the device with data of tasks that have ended. */
const MEMORIES_MAX = 4;
/** The maximum number of bytes of all memories of a kind together. The oldest are deleted first. */
const BYTES_MAX = 256 * 1024 * 1024;
const DAY_MILLISECONDS = 24 * 3600 * 1000;

/** State that is kept between the assignments of a task. */
export interface Memory {
  bytes: Uint8Array;
  at: number;
}

interface Kind {
  /** The end of its key in the store `memories`, behind the task. */
  suffix: string;
  /** Older ones are no longer useful. */
  daysMax: number;
}

const RESIDUAL: Kind = { suffix: '', daysMax: 30 };
/** Personal tensors and control variates. */
const OWN: Kind = { suffix: '.personal', daysMax: 365 };

/** Deletes the checkpoint, the update and the pending memories of an assignment. */
export async function forgetWork(storage: Storage, assignmentId: string): Promise<void> {
  // All keys of an assignment start with its id and a dot. The slash is the character after the dot.
  await storage.remove('work', IDBKeyRange.bound(`${assignmentId}.`, `${assignmentId}/`, false, true));
}

/** Deletes the client's own tensors of a task. */
export async function forgetOwn(storage: Storage, taskId: string): Promise<void> {
  await storage.remove('memories', `${taskId}${OWN.suffix}`);
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
 * Stores the residual and the control variate of an accepted update as the task's, and the personal tensors of a
 * training whose update was sent. If it is unknown whether the update was accepted, deletes the task's residual,
 * because parts of the update may have arrived. Calling it again has no effect.
 */
export async function settleMemories(storage: Storage, assignmentId: string, wasAccepted: boolean | null): Promise<void> {
  if (wasAccepted === false) {
    return;
  }
  await settle(storage, `${assignmentId}.memory`, RESIDUAL, wasAccepted === true);
  await settle(storage, `${assignmentId}.personal`, OWN, true);
  if (wasAccepted === true) {
    await settle(storage, `${assignmentId}.control`, OWN, true);
  }
}

async function settle(storage: Storage, key: string, kind: Kind, isKept: boolean): Promise<void> {
  const pending = await storage.get<{ task: string; bytes: Uint8Array }>('work', key);
  if (pending === undefined) {
    return;
  }
  const task = pending.task + kind.suffix;
  if (!isKept) {
    await storage.remove('memories', task);
    return;
  }
  await storage.put('memories', { bytes: pending.bytes, at: Date.now() } satisfies Memory, task);
  await storage.remove('work', key);
  await trimMemories(storage, kind, 0);
}

/** Stores the state that an update leaves for its task, until it is known whether the update was accepted. */
export async function putPending(storage: Storage, assignmentId: string, task: string, left: Left): Promise<void> {
  for (const [name, bytes] of Object.entries(left)) {
    const key = `${assignmentId}.${name}`;
    await (bytes === undefined ? storage.remove('work', key) : storage.put('work', { task, bytes }, key));
  }
}

/** The state that an update leaves for its task. */
interface Left {
  memory: Uint8Array | undefined;
  personal: Uint8Array | undefined;
  control: Uint8Array | undefined;
}

/** Deletes memories that are too old. */
export async function forgetOldMemories(storage: Storage): Promise<void> {
  for (const kind of [RESIDUAL, OWN]) {
    await trimMemories(storage, kind, Date.now() - kind.daysMax * DAY_MILLISECONDS);
  }
}

/** Deletes memories of a kind from before `oldest`, and the oldest ones above the limits. */
async function trimMemories(storage: Storage, kind: Kind, oldest: number): Promise<void> {
  const [keys, memories] = [await storage.keys('memories'), await storage.all<Memory>('memories')];
  const all = keys.map((key, index) => ({ key, at: memories[index]?.at ?? 0, bytes: memories[index]?.bytes }));
  const isOwn = (key: IDBValidKey) => String(key).endsWith(OWN.suffix);
  const chosen = all.filter(({ key }) => isOwn(key) === (kind === OWN));
  let held = 0;
  for (const [rank, { key, at, bytes }] of chosen.sort((a, b) => b.at - a.at).entries()) {
    held += bytes?.byteLength ?? 0;
    if (rank >= MEMORIES_MAX || held > BYTES_MAX || at < oldest) {
      await storage.remove('memories', key);
    }
  }
}

/** Deletes the data that are kept of a task. */
export async function forgetTask(storage: Storage, task: string): Promise<void> {
  for (const { suffix } of [RESIDUAL, OWN]) {
    await storage.remove('memories', task + suffix);
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

/** Returns the own tensors of a task: the tensors that only this client keeps, and its control variate. */
export function loadOwn(storage: Storage, task: string): Promise<Memory | undefined> {
  return storage.get<Memory>('memories', task + OWN.suffix);
}
