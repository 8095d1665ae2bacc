//! Compares every kernel with its CPU counterpart.
//!
//! Without an adapter these tests are skipped and say so; with `FOLKMOOT_GPU=required` they fail.

mod adapter;
mod bindings;
mod chains;
mod comparing;
mod faults;
mod graphs;
mod optimizers;
mod pools;
mod positions;
mod products;
mod reductions;
mod shapes;
mod updates;

use folkmoot_graph::program::Program;
use folkmoot_graph::{Graph, ValueId};

use super::{Gpu, Once};
use comparing::{Tolerance, gpu, numbers, on_gpu};

impl Tolerance {
    /// For copies and selections: not a single bit may differ.
    const EXACT: Self = Self { relative: 0.0, absolute: 0.0 };
    /// For elementwise functions, and for sums of up to a few thousand terms.
    const ROUNDING: Self = Self { relative: 1e-5, absolute: 1e-7 };
}

/// Runs a graph on both executors and compares every output. `inputs` are first those of the batch, then the
/// parameters.
#[track_caller]
fn compare(graph: &Graph, outputs: &[ValueId], inputs: &[&[f32]], tolerance: Tolerance) {
    let Some(gpu) = gpu() else { return };
    let mut twin: Program<f32> = Program::compile(graph, outputs, &[]).expect("the graph fits into memory");
    twin.run(&[], inputs, 7);
    for (index, found) in on_gpu(gpu, graph, outputs, inputs).iter().enumerate() {
        tolerance.check(found, twin.output(index));
    }
}
