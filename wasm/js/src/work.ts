/** The work of an assignment: chunks of steps, with room for messages in between. */

import type { Blobs } from './blobs.js';
import type { Budget } from './budget.js';
import type { Devices } from './devices.js';
import { type Assignment, weightsOf } from './effects.js';
import type { Engine } from './engine.js';
import type { Examples } from './examples.js';
import type { AssignedWork } from './gpu/folkmoot.js';
import type { ClientEvent } from './messages.js';
import type { Pace } from './pace.js';
import type { Storage } from './storage.js';

/** A chunk of steps takes at most about so long: a pause is noticed within 100 ms. */
const CHUNK_MILLISECONDS = 40;
/** How often a training is stored, so that a reload loses no more than this. */
const CHECKPOINT_MILLISECONDS = 2000;
/** How often progress is told. */
const PROGRESS_MILLISECONDS = 100;

/** What work needs of the worker. */
export interface WorkHost {
  engine: Engine;
  storage: Storage;
  blobs: Blobs;
  examples: Examples;
  devices: Devices;
  pace: Pace;
  privateAttributes: string;
  /** The limits of one assignment. */
  budget: Budget;
  emit: (event: ClientEvent) => void;
}

interface Progress {
  kind: 'training' | 'evaluation';
  step: number;
  steps_total: number;
  loss: number;
  metrics: { example_count: number; loss_sum: number; correct_count: number };
  examples_total: number;
  is_over: boolean;
}

/** Work at its end. */
interface Done {
  task: AssignedWork;
  kind: Progress['kind'];
}

/**
 * Does the work to its end and returns it, ready to make an update of. It is given up when `signal` says so; a training
 * ends after a step when `asked` says so, with what it has.
 */
export async function work(host: WorkHost, assignment: Assignment, signal: AbortSignal, asked: AbortSignal): Promise<Done> {
  const task = await begin(host, assignment);
  try {
    await host.devices.place(task, assignment);
    const kind = await advanceToEnd(host, task, assignment.assignment_id, signal, asked);
    await task.finish();
    return { task, kind };
  } catch (error) {
    task.free();
    throw error;
  }
}

async function begin(host: WorkHost, assignment: Assignment): Promise<AssignedWork> {
  const { engine, storage, blobs } = host;
  const read = [assignment.plan, assignment.model].map((artifact) => blobs.read(artifact.digest));
  const [plan, model, weights] = await Promise.all([...read, blobs.readAll(weightsOf(assignment))]);
  if (plan === undefined || model === undefined || weights === undefined) {
    const work_failed = { reason: 'fetch_failed', detail: 'a blob is not in the cache any more' };
    throw new Error(JSON.stringify({ work_failed }));
  }
  // They held when the plan came; since then the page may have been opened again with other attributes.
  const described = JSON.stringify(assignment);
  engine.screen(plan, host.privateAttributes, described);
  const checkpoint = await storage.get<Uint8Array>('work', `${assignment.assignment_id}.checkpoint`).catch(() => undefined);
  const examples = await host.examples.load(engine);
  try {
    return engine.AssignedWork.begin(described, plan, model, weights, examples, checkpoint, host.budget.json, CHUNK_MILLISECONDS);
  } finally {
    examples.free();
  }
}

async function advanceToEnd(
  host: WorkHost,
  task: AssignedWork,
  id: string,
  signal: AbortSignal,
  asked: AbortSignal,
): Promise<Progress['kind']> {
  let toldAt = -Infinity;
  let storedAt = performance.now();
  await host.pace.untilAllowed(signal);
  for (;;) {
    signal.throwIfAborted();
    const begun = performance.now();
    const progress = JSON.parse(await task.advance()) as Progress;
    host.devices.tellFault(task, id);
    const now = performance.now();
    const isOver = progress.is_over || (asked.aborted && progress.kind === 'training' && progress.step > 0);
    if (isOver || now - toldAt >= PROGRESS_MILLISECONDS) {
      host.emit(told(progress, id));
      toldAt = now;
    }
    if (isOver) {
      return progress.kind;
    }
    if (now - storedAt >= CHECKPOINT_MILLISECONDS) {
      await store(host.storage, task, id);
      storedAt = performance.now();
    }
    await host.pace.breathe(now - begun, signal);
  }
}

function told(progress: Progress, assignment_id: string): ClientEvent {
  const { step, steps_total, loss, metrics, examples_total } = progress;
  return progress.kind === 'training'
    ? { name: 'training', value: { assignment_id, step, steps_total, loss } }
    : { name: 'evaluating', value: { assignment_id, metrics, examples_total } };
}

/** A checkpoint that cannot be stored costs time after a reload, nothing else. */
async function store(storage: Storage, task: AssignedWork, id: string): Promise<void> {
  const bytes = await task.checkpoint();
  if (bytes !== undefined) {
    await storage.put('work', bytes, `${id}.checkpoint`).catch(() => undefined);
  }
}
