//! CPU kernels: one for each operator, prepared for known shapes.
//!
//! Results depend only on the inputs, because every sum has a fixed order. The element type is `f32` for training, and
//! `f64` for gradient checks and constant folding.

mod element;
mod gemm;
mod kernels;
mod threads;

pub use element::Element;
pub use gemm::multiply;
pub use kernels::vectorised;
pub(crate) use kernels::{Chain, INPUTS_MAX, Kernel, Workspace};

use crate::op::{Op, volume};

/// Computes one operator in double precision.
pub(crate) fn compute(op: &Op, inputs: &[&[f64]], shapes: &[&[usize]], out_shape: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; volume(out_shape)];
    if let Op::Concat { axis } = op {
        for (part, input) in inputs.iter().enumerate() {
            let workspace = Workspace { scratch: &mut [], threads: 1, seed: 0 };
            Kernel::join(*axis, shapes, part, out_shape).run(&[input], &mut out, workspace);
        }
        return out;
    }
    let kernel = Kernel::new(op, shapes, out_shape);
    let mut scratch = vec![0.0; kernel.scratch(1)];
    kernel.run(inputs, &mut out, Workspace { scratch: &mut scratch, threads: 1, seed: 0 });
    out
}
