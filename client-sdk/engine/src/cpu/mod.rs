//! The CPU executor: a graph becomes a list of prepared kernels over one arena.
//!
//! Results depend only on the inputs: every sum has a fixed order. The element type is `f32` in use and `f64` where
//! gradients are checked against finite differences and constants are folded.

mod compile;
mod element;
mod gemm;
mod kernels;
mod program;
mod threads;

pub(crate) use element::Element;
pub(crate) use kernels::vectorised;
pub(crate) use program::{Program, ProgramMemory};

use crate::graph::{Op, volume};

/// A program was not made, because of what it would need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The memory of a step is not there.
    #[error("a step needs {bytes} bytes of memory, which are not available; make the batch smaller")]
    OutOfMemory {
        /// What it needs.
        bytes: usize,
    },
}

/// Computes one operation in double precision.
pub(crate) fn compute(op: &Op, inputs: &[&[f64]], shapes: &[&[usize]], out_shape: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; volume(out_shape)];
    if let Op::Concat { axis } = op {
        for (part, input) in inputs.iter().enumerate() {
            let workspace = kernels::Workspace { scratch: &mut [], threads: 1, seed: 0 };
            kernels::Kernel::join(*axis, shapes, part, out_shape).run(&[input], &mut out, workspace);
        }
        return out;
    }
    let kernel = kernels::Kernel::new(op, shapes, out_shape);
    let mut scratch = vec![0.0; kernel.scratch(1)];
    kernel.run(inputs, &mut out, kernels::Workspace { scratch: &mut scratch, threads: 1, seed: 0 });
    out
}
