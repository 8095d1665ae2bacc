/** The examples of this device, with limits on size and age. */

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

export class Examples {
  private readonly width: number;
  private readonly perExample: number;

  constructor(
    private readonly storage: Storage,
    private readonly format: ExampleFormat,
  ) {
    // Checked at run time too, for callers that do not use TypeScript.
    if (!Array.isArray((format as Partial<ExampleFormat> | undefined)?.shape)) {
      const detail = 'options.examples.shape is missing; give the shape of one example, for example { shape: [64] }';
      throw new FolkmootError('bad_option', detail);
    }
    const isDimension = (size: number) => Number.isInteger(size) && size > 0;
    this.width = format.shape.reduce((product, size) => product * size, 1);
    this.perExample = format.labelsPerExample ?? 1;
    if (format.shape.length === 0 || !format.shape.every(isDimension) || !isDimension(this.perExample)) {
      throw new FolkmootError('bad_option', 'examples.shape and examples.labelsPerExample must be positive integers');
    }
  }

  /** Adds examples: all of them, or none if there is an error. If there are too many, the oldest are deleted. */
  async add(examples: Example[]): Promise<void> {
    const at = Date.now();
    await this.storage.putAll(
      'examples',
      examples.map((example, index) => this.checked(example, index, at)),
    );
    await this.clean();
  }

  async count(): Promise<number> {
    await this.clean();
    return this.storage.count('examples');
  }

  /** Passes all examples to the engine. */
  async load(engine: Engine): Promise<ExampleSet> {
    await this.clean();
    const all = await this.storage.all<Stored>('examples');
    const stored = all.filter((example) => this.fits(example));
    if (stored.length < all.length) {
      await this.deleteMisfits();
    }
    const features = new Float32Array(stored.length * this.width);
    const labels = new Float32Array(stored.length * this.perExample);
    stored.forEach((example, index) => {
      features.set(example.features, index * this.width);
      labels.set(example.labels, index * this.perExample);
    });
    const shape = Uint32Array.from(this.format.shape);
    return this.format.labels === 'targets'
      ? engine.ExampleSet.targets(features, shape, labels, this.perExample)
      : engine.ExampleSet.classes(features, shape, Uint32Array.from(labels), this.perExample);
  }

  /** Whether an example has the app's current shape. Stored examples may have an earlier one. */
  private fits({ features, labels }: Stored): boolean {
    return features.length === this.width && labels.length === this.perExample;
  }

  private deleteMisfits(): Promise<undefined> {
    return this.storage.visit<Stored>('examples', (example, remove) => {
      if (!this.fits(example)) {
        remove();
      }
      return true;
    });
  }

  private checked(example: Example, index: number, at: number): Stored {
    const { features: given, label } = example as Partial<Example>;
    if (given === undefined || label === undefined) {
      throw new FolkmootError('bad_example', `example ${index} has no ${given === undefined ? 'features' : 'label'}`);
    }
    const features = Float32Array.from(given);
    const labels = Float32Array.from(typeof label === 'number' ? [label] : label);
    const isClass = (label: number) => Number.isInteger(label) && label >= 0 && label <= CLASS_MAX;
    const isLabel = this.format.labels === 'targets' ? Number.isFinite : isClass;
    const problem =
      features.length !== this.width
        ? `has ${features.length} features, but examples.shape has ${this.width}`
        : labels.length !== this.perExample
          ? `has ${labels.length} labels, but examples.labelsPerExample is ${this.perExample}`
          : !features.every(Number.isFinite)
            ? 'has a feature that is not a finite number'
            : !labels.every(isLabel)
              ? `has an invalid label; use ${this.format.labels === 'targets' ? 'finite numbers' : `0 to ${CLASS_MAX}`}`
              : null;
    if (problem !== null) {
      throw new FolkmootError('bad_example', `example ${index} ${problem}`);
    }
    return { features, labels, at };
  }

  /** Deletes expired examples, and the oldest ones if a limit is exceeded. */
  private async clean(): Promise<void> {
    const bytesMax = this.format.bytesMax ?? BYTES_MAX;
    const countMax = Math.floor(bytesMax / (4 * (this.width + this.perExample)));
    const days = this.format.expiresAfterDays ?? Infinity;
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
