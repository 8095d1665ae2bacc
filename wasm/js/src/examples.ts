/** The examples of this device, with limits on size and age. */

import { AnswerError } from './effects.js';
import type { Engine } from './engine.js';
import type { ExampleSet } from './gpu/folkmoot.js';
import type { Storage } from './storage.js';
import { type Example, type ExampleFormat, FolkmootError } from './types.js';

interface Stored {
  features: Float32Array;
  labels: Float32Array;
  at: number;
}

const BYTES_MAX = 64 * 1024 * 1024;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** The maximum class number. Float32 represents all integers up to this value exactly. */
const CLASS_MAX = 2 ** 24;

const NO_SHAPE = 'options.examples.shape is missing; give the shape of one example, for example { shape: [64] }';

/** A format, checked, with the numbers of values per example. */
interface Form extends ExampleFormat {
  width: number;
  perExample: number;
}

export class Examples {
  private readonly form: Form | null;

  /** Without a format, there are no examples. That is allowed if the app trains in its own loop. */
  constructor(
    private readonly storage: Storage,
    format: ExampleFormat | undefined,
    isOptional: boolean,
  ) {
    this.form = format === undefined && isOptional ? null : formOf(format);
  }

  /** Adds examples: all of them, or none if there is an error. If there are too many, the oldest are deleted. */
  async add(examples: Example[]): Promise<void> {
    const { form } = this;
    if (form === null) {
      throw new FolkmootError('bad_option', NO_SHAPE);
    }
    const at = Date.now();
    await this.storage.putAll(
      'examples',
      examples.map((example, index) => checked(form, example, index, at)),
    );
    await this.clean();
  }

  async count(): Promise<number> {
    await this.clean();
    return this.storage.count('examples');
  }

  /** Passes all examples to the engine. */
  async load(engine: Engine): Promise<ExampleSet> {
    const { form } = this;
    if (form === null) {
      const detail = 'the app has no examples for the engine, and its own loop left the work to the engine';
      throw new AnswerError({ work_failed: { reason: 'training_failed', detail } });
    }
    await this.clean();
    const all = await this.storage.all<Stored>('examples');
    const stored = all.filter((example) => fits(form, example));
    if (stored.length < all.length) {
      await this.deleteMisfits(form);
    }
    const features = new Float32Array(stored.length * form.width);
    const labels = new Float32Array(stored.length * form.perExample);
    stored.forEach((example, index) => {
      features.set(example.features, index * form.width);
      labels.set(example.labels, index * form.perExample);
    });
    const shape = Uint32Array.from(form.shape);
    return form.labels === 'targets'
      ? engine.ExampleSet.targets(features, shape, labels, form.perExample)
      : engine.ExampleSet.classes(features, shape, Uint32Array.from(labels), form.perExample);
  }

  private deleteMisfits(form: Form): Promise<undefined> {
    return this.storage.visit<Stored>('examples', (example, remove) => {
      if (!fits(form, example)) {
        remove();
      }
      return true;
    });
  }

  /** Deletes expired examples, and the oldest ones if a limit is exceeded. */
  private async clean(): Promise<void> {
    const { form } = this;
    if (form === null) {
      return;
    }
    const bytesMax = form.bytesMax ?? BYTES_MAX;
    const countMax = Math.floor(bytesMax / (4 * (form.width + form.perExample)));
    const days = form.expiresAfterDays ?? Infinity;
    const oldest = Date.now() - days * DAY_MILLISECONDS;
    let excess = (await this.storage.count('examples')) - countMax;
    if (excess <= 0 && days === Infinity) {
      return;
    }
    await this.storage.visit<Stored>('examples', (example, remove) => {
      if (excess <= 0 && example.at >= oldest) {
        return false;
      }
      excess -= 1;
      remove();
      return true;
    });
  }
}

/** Checks a format at run time too, for callers that do not use TypeScript. */
function formOf(format: Partial<ExampleFormat> | undefined): Form {
  const { shape, labelsPerExample: perExample = 1 } = format ?? {};
  if (!Array.isArray(shape)) {
    throw new FolkmootError('bad_option', NO_SHAPE);
  }
  const isDimension = (size: number) => Number.isInteger(size) && size > 0;
  if (shape.length === 0 || !shape.every(isDimension) || !isDimension(perExample)) {
    throw new FolkmootError('bad_option', 'examples.shape and examples.labelsPerExample must be positive integers');
  }
  return { ...format, shape, width: shape.reduce((product, size) => product * size, 1), perExample };
}

/** Whether an example has the app's current shape. Stored examples may have an earlier one. */
function fits({ width, perExample }: Form, { features, labels }: Stored): boolean {
  return features.length === width && labels.length === perExample;
}

function checked(form: Form, example: Example, index: number, at: number): Stored {
  const { features: given, label } = example as Partial<Example>;
  if (given === undefined || label === undefined) {
    throw new FolkmootError('bad_example', `example ${index} has no ${given === undefined ? 'features' : 'label'}`);
  }
  const features = Float32Array.from(given);
  const labels = Float32Array.from(typeof label === 'number' ? [label] : label);
  const isClass = (label: number) => Number.isInteger(label) && label >= 0 && label <= CLASS_MAX;
  const isLabel = form.labels === 'targets' ? Number.isFinite : isClass;
  const problem =
    features.length !== form.width
      ? `has ${features.length} features, but examples.shape has ${form.width}`
      : labels.length !== form.perExample
        ? `has ${labels.length} labels, but examples.labelsPerExample is ${form.perExample}`
        : !features.every(Number.isFinite)
          ? 'has a feature that is not a finite number'
          : !labels.every(isLabel)
            ? `has an invalid label; use ${form.labels === 'targets' ? 'finite numbers' : `0 to ${CLASS_MAX}`}`
            : null;
  if (problem !== null) {
    throw new FolkmootError('bad_example', `example ${index} ${problem}`);
  }
  return { features, labels, at };
}
