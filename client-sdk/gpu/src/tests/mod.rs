//! Every kernel against its twin on the CPU.
//!
//! Where there is no adapter the tests are left out, and say so; `FOLKMOOT_GPU=required` makes that a failure.

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
    /// For what is copied or chosen: not a bit may differ.
    const EXACT: Self = Self { relative: 0.0, absolute: 0.0 };
    /// For elementwise functions, and sums of up to some thousand terms.
    const ROUNDING: Self = Self { relative: 1e-5, absolute: 1e-7 };
}

/// Runs a graph on both executors and compares every output. `inputs` are those of the batch, then the parameters.
#[track_caller]
fn compare(graph: &Graph, outputs: &[ValueId], inputs: &[&[f32]], tolerance: Tolerance) {
    let Some(gpu) = gpu() else { return };
    let mut twin: Program<f32> = Program::compile(graph, outputs, &[]).expect("the graph fits into memory");
    twin.run(&[], inputs, 7);
    for (index, found) in on_gpu(gpu, graph, outputs, inputs).iter().enumerate() {
        tolerance.check(found, twin.output(index));
    }
}
