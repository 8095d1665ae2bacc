/** The work of an assignment: chunks of steps, between which the worker handles messages. */

import type { Blobs } from './blobs.js';
import type { Devices } from './devices.js';
import { type Assignment, weightsOf } from './effects.js';
import { type Engine, engineFor, engineForPlan, loadMasks } from './engine.js';
import type { Examples } from './examples.js';
import type { AssignedWork } from './gpu/folkmoot.js';
import type { Budget } from './limits.js';
import type { ClientEvent } from './messages.js';
import type { Pace } from './pace.js';
import { type Loop, runLoop } from './run_loop.js';
import type { Storage } from './storage.js';
import type { ClientEvents, Plan } from './types.js';
import { forgetOwn, loadOwn } from './work_store.js';

/** The duration of a chunk of steps. A pause is noticed within 100 ms. */
const CHUNK_MILLISECONDS = 40;
/** The time between two checkpoints, in milliseconds. A reload loses at most this much training. */
const CHECKPOINT_MILLISECONDS = 2000;
/** The minimum time between two progress events, in milliseconds. */
const PROGRESS_MILLISECONDS = 100;

/** The functions of the worker that work needs. */
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
  /** The app's own loop, or null. */
  loop: Loop | null;
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
  /** True if a training that is asked for can end here. */
  may_end?: boolean;
}

/** The result of finished work. */
interface Done {
  task: AssignedWork;
  kind: Progress['kind'];
}

/** The inputs of work, and the module that reads its model. */
interface Inputs {
  /** The arguments with which every work begins. */
  given: [assignment: string, plan: Uint8Array, model: Uint8Array, weights: Uint8Array, own: Uint8Array | undefined];
  plan: Plan;
  reader: Engine;
}

/**
 * Runs the work to its end and returns it, ready to build an update. `signal` cancels it. `asked` ends a training after
 * the current step, if that is one of the tensors that travel. The update then contains the weights so far.
 */
export async function work(host: WorkHost, assignment: Assignment, signal: AbortSignal, asked: AbortSignal): Promise<Done> {
  const inputs = await load(host, assignment);
  const own = await ownWork(host, assignment, inputs, signal, asked);
  if (own !== null) {
    return own;
  }
  const task = await begin(host, assignment, inputs);
  try {
    await chooseCluster(host, task, signal);
    await host.devices.place(inputs.reader, task, assignment);
    const kind = await advanceToEnd(host, task, assignment.assignment_id, signal, asked);
    await task.finish();
    return { task, kind };
  } catch (error) {
    task.free();
    const { elastic_averaging, model_contrast, personal_training } = inputs.plan.training;
    const keepsModel = elastic_averaging != null || model_contrast != null || personal_training?.apfl != null;
    if (!signal.aborted && keepsModel) {
      // No later training with this replica or model would succeed. The next one starts from the version.
      await forgetOwn(host.storage, assignment.task_id).catch(() => undefined);
    }
    throw error;
  }
}

/** Lets the app's own loop do the work. Returns null if there is no such loop, or if it leaves an evaluation to the engine. */
async function ownWork(
  { loop, pace, budget }: WorkHost,
  assignment: Assignment,
  { given, plan, reader }: Inputs,
  signal: AbortSignal,
  asked: AbortSignal,
): Promise<Done | null> {
  const kind = plan.work ?? 'training';
  // The engine measures the clusters, and fine-tunes.
  const needsEngine = plan.training.clusters != null || plan.fine_tuning != null;
  const isLeft = kind === 'evaluation' && (loop?.evaluates !== true || needsEngine);
  if (loop === null || isLeft) {
    return null;
  }
  await pace.untilAllowed(signal);
  const task = reader.AssignedWork.begin(...given, undefined, undefined, budget.json, CHUNK_MILLISECONDS);
  let isDone = false;
  try {
    const about = { assignment, plan, secondsMax: budget.trainingSecondsMax };
    isDone = await runLoop(loop, task, about, signal, asked);
    return isDone ? { task, kind } : null;
  } finally {
    if (!isDone) {
      task.free();
    }
  }
}

/** Reads the blobs, and loads the module that reads the model. */
async function load(host: WorkHost, assignment: Assignment): Promise<Inputs> {
  const { engine, storage, blobs } = host;
  const read = [assignment.plan, assignment.model].map((artifact) => blobs.read(artifact.digest));
  const [plan, model, weights] = await Promise.all([...read, blobs.readAll(weightsOf(assignment))]);
  if (plan === undefined || model === undefined || weights === undefined) {
    const work_failed = { reason: 'fetch_failed', detail: 'a blob is no longer in the cache' };
    throw new Error(JSON.stringify({ work_failed }));
  }
  // The rules held when the plan arrived, but the page may have been reopened with other attributes since.
  const described = JSON.stringify(assignment);
  (await engineForPlan(engine, plan)).screen(plan, host.privateAttributes, described);
  const reader = assignment.is_masked === true ? await loadMasks() : await engineFor(engine, plan, model);
  const own = (await loadOwn(storage, assignment.task_id))?.bytes;
  return { given: [described, plan, model, weights, own], plan: JSON.parse(new TextDecoder().decode(plan)) as Plan, reader };
}

/** Begins the work in the engine, from the checkpoint if there is one. */
async function begin({ storage, examples, budget }: WorkHost, assignment: Assignment, inputs: Inputs): Promise<AssignedWork> {
  const checkpoint = await storage.get<Uint8Array>('work', `${assignment.assignment_id}.checkpoint`).catch(() => undefined);
  const loaded = await examples.load(inputs.reader);
  return inputs.reader.AssignedWork.begin(...inputs.given, loaded, checkpoint, budget.json, CHUNK_MILLISECONDS);
}

/** Chooses the cluster whose model fits the examples best, if the plan has clusters. */
async function chooseCluster({ pace }: WorkHost, task: AssignedWork, signal: AbortSignal): Promise<void> {
  for (;;) {
    const begun = performance.now();
    if (task.chooseCluster()) {
      return;
    }
    await pace.breathe(performance.now() - begun, signal);
    signal.throwIfAborted();
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
    if (asked.aborted) {
      task.endEarly();
    }
    const progress = JSON.parse(await task.advance()) as Progress;
    host.devices.tellFault(task, id);
    const now = performance.now();
    const isOver = progress.is_over || (asked.aborted && progress.may_end === true);
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

function told(progress: Progress, assignmentId: string): ClientEvent {
  const { step, steps_total, loss, metrics, examples_total } = progress;
  return progress.kind === 'training'
    ? { name: 'training', value: { assignmentId, step, stepsTotal: steps_total, loss } }
    : { name: 'evaluating', value: { assignmentId, metrics: metricsOf(metrics), examplesTotal: examples_total } };
}

function metricsOf(sums: Progress['metrics']): ClientEvents['evaluating']['metrics'] {
  return { exampleCount: sums.example_count, lossSum: sums.loss_sum, correctCount: sums.correct_count };
}

/** Stores a checkpoint. If this fails, the only harm is that training after a reload repeats more steps. */
async function store(storage: Storage, task: AssignedWork, id: string): Promise<void> {
  const bytes = await task.checkpoint();
  if (bytes !== undefined) {
    await storage.put('work', bytes, `${id}.checkpoint`).catch(() => undefined);
  }
}
