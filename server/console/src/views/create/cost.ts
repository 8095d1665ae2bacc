/** The cost of a task for its clients, computed from the model's graph and the description. */

import type { ModelGraph } from '../../api/types';
import { type Description, goal, table } from './questions';

export interface Cost {
  /** Bytes of an update that a client sends in a round, without headers. Undefined if the codec's size depends on the values. */
  sent: number | undefined;
  /** Bytes of a version that a client fetches in a round, uncompressed. */
  fetched: number;
  /** Clients that train in a round, with those whose update may not be needed. */
  drawn: number;
  rounds: number | undefined;
  /** Floating-point operations of a client in a round. */
  flops: number;
}

/** Tensors with fewer values always travel as float32. It is the default of `compression.exact_below`. */
const EXACT_BELOW = 256;
const BITS: Record<string, number> = { none: 32, bf16: 16, fp16: 16, 'eden:4': 4, 'eden:1': 1 };
/** The default of `scheduling.over_selection_factor`. */
const OVER_SELECTION = 1.3;

/** Computes the cost of a round for a client with `examples` examples. */
export function cost(graph: ModelGraph, task: Description, examples: number): Cost {
  const { epochs = 1 } = table(task, 'plan');
  const { kind, over_selection_factor, concurrency } = table(task, 'scheduling');
  const { codec = 'none', exact_below = EXACT_BELOW } = table(task, 'compression');
  const bits = BITS[String(codec)];
  const sizes = graph.parameters.map(({ shape }) => shape.reduce((product, size) => product * size, 1));
  const values = sizes.reduce((sum, size) => sum + size, 0);
  const update = (bits: number) => sizes.reduce((sum, size) => sum + (size * (size < Number(exact_below) ? 32 : bits)) / 8, 0);
  const rounds = Number(table(task, 'stop')['rounds']);
  return {
    sent: bits === undefined ? undefined : Math.ceil(update(bits)),
    fetched: 4 * values,
    drawn: kind === 'buffered' ? Number(concurrency) : Math.ceil(goal(task) * Number(over_selection_factor ?? OVER_SELECTION)),
    rounds: Number.isFinite(rounds) ? rounds : undefined,
    flops: graph.training_flops * examples * Number(epochs),
  };
}
