/** The models on this device: the one that the operator has rolled out to it, and the one of the last assignment. */

import { type Artifact, type Blobs, BYTES_MAX } from './blobs.js';
import { answerOf, type Newest, type Rollout, weightsOf } from './effects.js';
import type { Endorsements } from './endorsements.js';
import { type Engine, engineFor, ModuleError } from './engine.js';
import type { TrainedModel } from './gpu/folkmoot.js';
import type { Budget, DayBytes } from './limits.js';
import { type Log, sendLogged } from './log.js';
import type { ClientEvent } from './messages.js';
import type { Storage } from './storage.js';
import type { Transport } from './transport.js';
import { FolkmootError, type ModelUpdate, type Prediction } from './types.js';
import { loadOwn } from './work_store.js';

/** The storage key of the model that is rolled out to this device. */
const ROLLED_OUT = 'rolled_out';
/** The maximum length of a reported failure. The coordinator accepts 1,024 bytes, and each of these units has at most 3. */
const FAILURE_LENGTH_MAX = 340;

/** The functions of the worker that models need. */
interface ModelsHost {
  engine: Engine;
  storage: Storage;
  transport: Transport;
  blobs: Blobs;
  endorsements: Endorsements;
  budget: Budget;
  day: DayBytes;
  log: Log;
  emit: (event: ClientEvent) => void;
}

/** The rolled-out model, and whether the coordinator knows that it was loaded. */
type RolledOut = Rollout & { isReported: boolean };

export class Models {
  private loaded: { of: string; model: TrainedModel } | null = null;

  constructor(
    private readonly host: ModelsHost,
    private readonly channel = 'stable',
  ) {
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(channel)) {
      const expected = 'use 1 to 64 characters of a-z, 0-9 and -, starting with a letter';
      throw new FolkmootError('bad_option', `\`${channel}\` is not a channel name; ${expected}`);
    }
  }

  free(): void {
    this.loaded?.model.free();
    this.loaded = null;
  }

  async predict(features: Float32Array): Promise<Prediction> {
    const { storage } = this.host;
    const rolledOut = await this.load(await storage.get<RolledOut>('state', ROLLED_OUT));
    const model = rolledOut ?? (await this.load(await storage.get<Newest>('state', 'newest')));
    if (model === undefined) {
      throw new FolkmootError('no_model', 'there is no model on this device; update the model, or take part in a round first');
    }
    const width = widthOf(model);
    if (features.length === 0 || features.length % width !== 0) {
      throw new FolkmootError('bad_example', `${features.length} features are not a multiple of ${width}, the size of a row`);
    }
    return { outputs: model.predict(features, features.length / width), shape: Array.from(model.output_shape) };
  }

  /** Fetches the model that is rolled out to this device, tries it, and reports whether it can be used. */
  async update(signal: AbortSignal): Promise<ModelUpdate | null> {
    const { storage, blobs, day, emit } = this.host;
    // Another tab may have counted bytes since this one has.
    await day.save();
    await day.load();
    const rollout = await this.ask(signal);
    if (rollout === undefined) {
      await storage.remove('state', ROLLED_OUT);
      return null;
    }
    const known = await storage.get<RolledOut>('state', ROLLED_OUT);
    const isNew = known === undefined || !isSame(known, rollout) || (await blobs.missingBytes(partsOf(rollout))) > 0;
    const failure = (isNew ? await this.refusalOf(rollout) : null) ?? (await this.fetched(rollout, isNew, signal));
    if (failure !== null) {
      await this.report(rollout, failure, signal);
      throw new FolkmootError('model_unusable', `the model of rollout ${rollout.number} cannot be used on this device: ${failure}`);
    }
    if (isNew) {
      await storage.put('state', { ...rollout, isReported: false } satisfies RolledOut, ROLLED_OUT);
      emit({ name: 'model', value: {} });
    }
    if ((isNew || !known.isReported) && (await this.report(rollout, undefined, signal))) {
      await storage.put('state', { ...rollout, isReported: true } satisfies RolledOut, ROLLED_OUT);
    }
    return { rollout: rollout.number, taskId: rollout.task_id, version: rollout.version, isNew };
  }

  /** Returns the model that is rolled out to this device. */
  private async ask(signal: AbortSignal): Promise<Rollout | undefined> {
    const { transport } = this.host;
    const request = { method: 'GET', path: `/v1/model?channel=${this.channel}` } as const;
    const answer = await sendLogged(this.host, { action: 'asked', detail: 'which model is rolled out' }, (traffic) =>
      transport.json<{ rollout?: Rollout } | null>({ ...request, traffic }, signal),
    );
    if (answer === null || (answer.rollout !== undefined && !isWhole(answer.rollout))) {
      throw transport.broken('the answer about the rolled-out model is incomplete; check for a proxy or captive portal');
    }
    return answer.rollout;
  }

  /** Returns why this device refuses a model before it fetches anything, or null. */
  private async refusalOf(rollout: Rollout): Promise<string | null> {
    const { endorsements, budget } = this.host;
    const bytes = partsOf(rollout).reduce((sum, part) => sum + part.bytes, 0);
    const max = Math.min(budget.modelBytesMax, BYTES_MAX);
    const tooLarge = bytes > max ? `the model has ${bytes} bytes, and this device keeps at most ${max}` : null;
    return (await endorsements.refusalOf(rollout)) ?? tooLarge;
  }

  /** Fetches the missing parts of a model, and tries it if it is new. Returns why this device cannot use it, or null. */
  private async fetched(rollout: Rollout, isNew: boolean, signal: AbortSignal): Promise<string | null> {
    const entry = { action: 'fetched', taskId: rollout.task_id, detail: `the model of rollout ${rollout.number}` } as const;
    // Parts that are there are marked as used, so that those of a training are deleted first.
    for (const part of partsOf(rollout)) {
      await sendLogged(this.host, entry, (traffic) => this.host.blobs.fetch(part, signal, traffic));
    }
    try {
      return isNew ? await this.fault(rollout) : null;
    } catch (error) {
      if (error instanceof ModuleError || error instanceof FolkmootError) {
        throw error;
      }
      const answer = answerOf(error) as { work_failed?: { detail: string } } | null;
      return answer?.work_failed?.detail ?? String(error);
    }
  }

  /** Loads a model and tries a prediction. Returns or throws why this device cannot use it. */
  private async fault(rollout: Rollout): Promise<string | null> {
    const weights = await this.host.blobs.read(rollout.weights.digest);
    const model = await this.read(rollout, await this.own(rollout));
    if (weights === undefined || model === undefined) {
      return 'the browser has deleted a part of the model';
    }
    try {
      const values = new Float32Array(weights.buffer, weights.byteOffset, weights.byteLength / 4);
      const index = values.findIndex((value) => !Number.isFinite(value));
      model.predict(new Float32Array(widthOf(model)), 1);
      return index < 0 ? null : `weight ${index} is NaN or infinite`;
    } finally {
      model.free();
    }
  }

  /** Tells the coordinator whether this device can use a model. Returns whether the coordinator knows it now. */
  private report({ number }: Rollout, failure: string | undefined, signal: AbortSignal): Promise<boolean> {
    const json = { number, failure: failure?.slice(0, FAILURE_LENGTH_MAX) };
    const request = { method: 'POST', path: '/v1/model/report', json } as const;
    const entry = { action: 'reported', detail: `whether the model of rollout ${number} can be used` } as const;
    const sent = sendLogged(this.host, entry, (traffic) => this.host.transport.json({ ...request, traffic }, signal));
    // If this fails, the next update repeats it.
    return sent.then(
      () => true,
      () => false,
    );
  }

  /** Returns a stored model, or undefined if there is none. */
  private async load(record: Newest | undefined): Promise<TrainedModel | undefined> {
    // Earlier versions of this package stored no plan.
    if (record?.plan === undefined) {
      return undefined;
    }
    const own = await this.own(record);
    const of = `${record.plan.digest} ${record.model.digest} ${record.weights.digest} ${own?.at}`;
    if (this.loaded?.of !== of) {
      const model = await this.read(record, own);
      if (model === undefined) {
        return undefined;
      }
      this.free();
      this.loaded = { of, model };
    }
    return this.loaded?.model;
  }

  /** Returns the tensors that this client trains for itself. */
  private async own({ task_id }: Newest): ReturnType<typeof loadOwn> {
    return task_id === undefined ? undefined : loadOwn(this.host.storage, task_id);
  }

  private async read(record: Newest, own: Awaited<ReturnType<typeof loadOwn>>): Promise<TrainedModel | undefined> {
    const { blobs, engine } = this.host;
    const [plan, onnx] = [await blobs.read(record.plan.digest), await blobs.read(record.model.digest)];
    const weights = await blobs.readAll(weightsOf(record));
    if (plan === undefined || onnx === undefined || weights === undefined) {
      return undefined;
    }
    const partBytes = Uint32Array.from(record.weights_parts ?? [], (part) => part.bytes);
    const reader = await engineFor(engine, plan, onnx);
    return new reader.TrainedModel(plan, onnx, weights, partBytes, own?.bytes);
  }
}

function partsOf({ plan, model, weights }: Rollout): Artifact[] {
  return [plan, model, weights];
}

/** Returns whether two rollouts give the same model. A number alone may be that of another population. */
function isSame(one: Rollout, other: Rollout): boolean {
  const parts = (rollout: Rollout) => partsOf(rollout).map((part) => part.digest);
  const identity = (rollout: Rollout) => [rollout.number, rollout.task_id, rollout.version, ...parts(rollout)].join(' ');
  return identity(one) === identity(other);
}

/** Returns whether an answer has all fields of a rollout. */
function isWhole(rollout: Rollout): boolean {
  const parts: (Artifact | undefined)[] = partsOf(rollout);
  const numbers = [rollout.number, rollout.version, ...parts.map((part) => part?.bytes)];
  const texts = [rollout.task_id, ...parts.map((part) => part?.digest)];
  return numbers.every((number) => Number.isSafeInteger(number)) && texts.every((text) => typeof text === 'string');
}

/** Returns the number of features in a row. */
function widthOf(model: TrainedModel): number {
  return model.input_shape.reduce((product, size) => product * size, 1);
}
