//! One kernel for each operator, prepared for known shapes. Running a kernel allocates nothing.

mod conv;
mod conv_shape;
mod conv_together;
#[cfg(not(target_family = "wasm"))]
mod depthwise;
#[cfg(any(target_family = "wasm", test))]
mod depthwise_by_lines;
#[cfg(not(target_family = "wasm"))]
mod depthwise_small;
mod elementwise;
mod gather;
mod matmul;
#[cfg(not(target_family = "wasm"))]
mod plane_sums;
mod pool;
mod pool_pairs;
mod random;
mod reduce;
mod strided;

use conv_shape::Conv;
pub(crate) use elementwise::{Chain, INPUTS_MAX};
use gather::Gather;
use matmul::MatMul;
use pool::Pool;
use reduce::{ArgMaximum, Reduce};
use strided::Strided;

use super::element::Element;
use crate::op::{ElementOp, Op, Reduction, broadcast_strides, volume};
use crate::op::{Instruction, Operand};

/// Resources that kernels share during a run.
pub(crate) struct Workspace<'a, E> {
    /// Workspace memory; [`Kernel::scratch`] gives its size.
    pub(crate) scratch: &'a mut [E],
    /// The number of threads to use.
    pub(crate) threads: usize,
    /// The seed of random operators.
    pub(crate) seed: u64,
}

/// A prepared operator.
#[derive(Debug, Clone)]
pub(crate) enum Kernel<E> {
    Chain(Chain<E>),
    /// Reads strided positions.
    Read(Strided),
    /// Writes strided positions. If `clear` is set, the other positions become 0; otherwise they keep their values.
    Write {
        positions: Strided,
        clear: bool,
    },
    Reduce(Reduce),
    ArgMaximum(ArgMaximum),
    MatMul(MatMul),
    Gather(Gather),
    ScatterAdd(Gather),
    Conv(Conv),
    ConvInputGradient(Conv),
    ConvFilterGradient(Conv),
    MaxPool(Pool),
    MaxPoolGradient(Pool),
    AveragePool(Pool),
    AveragePoolGradient(Pool),
    Random {
        stream: u64,
    },
}

impl<E: Element> Kernel<E> {
    /// Prepares one operator for inputs and an output of these shapes. An elementwise operator becomes a chain of one
    /// instruction. Longer chains are prepared by [`Chain::new`], and concatenations by [`Self::join`].
    ///
    /// # Panics
    ///
    /// Panics for [`Op::Concat`].
    pub(crate) fn new(op: &Op, inputs: &[&[usize]], out: &[usize]) -> Self {
        match op {
            Op::Element(op) => Self::Chain(single(*op, inputs, out)),
            Op::Reshape => Self::Read(Strided::new(&[volume(out)], &[1], 0)),
            Op::Broadcast => {
                let strides = broadcast_strides(inputs[0], out);
                let strides: Vec<isize> = strides.into_iter().map(|stride| stride as isize).collect();
                Self::Read(Strided::new(out, &strides, 0))
            }
            Op::Transpose { axes } => Self::Read(Strided::of_transpose(inputs[0], axes)),
            Op::Slice { starts, steps } => Self::Read(Strided::of_slice(inputs[0], starts, steps, out)),
            Op::Unslice { starts, steps } => {
                let positions = Strided::of_slice(out, starts, steps, inputs[0]);
                Self::Write { positions, clear: true }
            }
            Op::SumTo => {
                let padding = inputs[0].len() - out.len();
                let is_reduced: Vec<bool> = (0..inputs[0].len())
                    .map(|axis| axis < padding || (out[axis - padding] == 1 && inputs[0][axis] != 1))
                    .collect();
                Self::Reduce(Reduce::new(Reduction::Sum, inputs[0], &is_reduced))
            }
            Op::Reduce { kind, axes } => {
                let is_reduced: Vec<bool> = (0..inputs[0].len()).map(|axis| axes.contains(&axis)).collect();
                Self::Reduce(Reduce::new(*kind, inputs[0], &is_reduced))
            }
            Op::ArgMaximum { axis, last } => Self::ArgMaximum(ArgMaximum::new(inputs[0], *axis, *last)),
            Op::MatMul { transpose_a, transpose_b } => {
                Self::MatMul(MatMul::new(inputs[0], inputs[1], out, *transpose_a, *transpose_b))
            }
            Op::Gather { axis } => Self::Gather(Gather::new(inputs[0], *axis, volume(inputs[1]))),
            Op::ScatterAdd { axis } => Self::ScatterAdd(Gather::new(out, *axis, volume(inputs[1]))),
            Op::Random { stream } => Self::Random { stream: *stream },
            Op::Concat { .. } => unreachable!("a join is written part by part"),
            _ => Self::windowed(op, inputs, out),
        }
    }

    fn windowed(op: &Op, inputs: &[&[usize]], out: &[usize]) -> Self {
        match op {
            Op::Conv { window, groups } => Self::Conv(Conv::new(*window, *groups, inputs[0], out)),
            Op::ConvInputGradient { window, groups } => {
                Self::ConvInputGradient(Conv::new(*window, *groups, out, inputs[0]))
            }
            Op::ConvFilterGradient { window, groups } => {
                Self::ConvFilterGradient(Conv::new(*window, *groups, inputs[1], inputs[0]))
            }
            Op::MaxPool { window } => Self::MaxPool(Pool::new(*window, inputs[0], out, None)),
            Op::MaxPoolGradient { window } => {
                Self::MaxPoolGradient(Pool::new(*window, inputs[0], inputs[1], None))
            }
            Op::AveragePool { window, counted_padding } => {
                Self::AveragePool(Pool::new(*window, inputs[0], out, *counted_padding))
            }
            Op::AveragePoolGradient { window, counted_padding } => {
                Self::AveragePoolGradient(Pool::new(*window, out, inputs[0], *counted_padding))
            }
            _ => unreachable!("{} has no window", op.name()),
        }
    }

    /// Prepares the copy of input `part` into the output of a concatenation along `axis`.
    pub(crate) fn join(axis: usize, inputs: &[&[usize]], part: usize, out: &[usize]) -> Self {
        let mut starts = vec![0; out.len()];
        starts[axis] = inputs[..part].iter().map(|input| input[axis]).sum();
        let positions = Strided::of_slice(out, &starts, &vec![1; out.len()], inputs[part]);
        Self::Write { positions, clear: false }
    }

    /// Returns the number of workspace elements.
    pub(crate) fn scratch(&self, threads: usize) -> usize {
        match self {
            Self::Chain(chain) => chain.scratch(),
            Self::Conv(conv) | Self::ConvInputGradient(conv) => conv.scratch(threads),
            Self::ConvFilterGradient(conv) => conv.filter_scratch(threads),
            _ => 0,
        }
    }

    /// Returns the number of floating-point operations in one run, for an output of this many elements.
    pub(crate) fn flops(&self, out: usize) -> u64 {
        match self {
            Self::MatMul(matmul) => matmul.flops(),
            Self::Conv(conv) | Self::ConvInputGradient(conv) | Self::ConvFilterGradient(conv) => conv.flops(),
            Self::Chain(chain) => (chain.len() * out) as u64,
            _ => 0,
        }
    }

    /// Computes the output. If the first input of a chain is empty, `out` holds that input on entry.
    pub(crate) fn run(&self, inputs: &[&[E]], out: &mut [E], workspace: Workspace<'_, E>) {
        let Workspace { scratch, threads, seed } = workspace;
        match self {
            Self::Chain(chain) => vectorised(
                #[inline(always)]
                || chain.run(inputs, out, scratch),
            ),
            Self::Read(positions) => positions.read(inputs[0], out),
            Self::Write { positions, clear } => {
                if *clear {
                    out.fill(E::ZERO);
                }
                positions.write(inputs[0], out);
            }
            Self::Reduce(reduce) => vectorised(
                #[inline(always)]
                || reduce.run(inputs[0], out),
            ),
            Self::ArgMaximum(argument) => argument.run(inputs[0], out),
            Self::MatMul(matmul) => matmul.run(inputs[0], inputs[1], out, threads),
            Self::Gather(gather) => gather.run(inputs[0], inputs[1], out),
            Self::ScatterAdd(gather) => gather.scatter_add(inputs[0], inputs[1], out),
            Self::Conv(conv) => conv.forward(inputs[0], inputs[1], out, scratch, threads),
            Self::ConvInputGradient(conv) => conv.input_gradient(inputs[0], inputs[1], out, scratch, threads),
            Self::ConvFilterGradient(conv) => {
                conv.filter_gradient(inputs[0], inputs[1], out, scratch, threads)
            }
            Self::MaxPool(pool) => vectorised(
                #[inline(always)]
                || pool.maximum(inputs[0], out),
            ),
            Self::MaxPoolGradient(pool) => vectorised(
                #[inline(always)]
                || pool.maximum_gradient(inputs[0], inputs[1], out),
            ),
            Self::AveragePool(pool) => pool.average(inputs[0], out),
            Self::AveragePoolGradient(pool) => pool.average_gradient(inputs[0], out),
            Self::Random { stream } => random::uniform(seed, *stream, out),
        }
    }
}

/// Creates a chain of one operator.
fn single<E: Element>(op: ElementOp, inputs: &[&[usize]], out: &[usize]) -> Chain<E> {
    let operands = (0..inputs.len()).map(Operand::Input).collect();
    Chain::new(inputs, out, vec![Instruction { op, operands }], &[])
}

/// Runs a loop that is compiled for several instruction sets; picks the best one that the CPU supports.
///
/// The closure must be `#[inline(always)]`, and so must the functions that it calls. Otherwise the compiler may leave
/// the loop in a function of its own, which has the narrowest instructions.
pub fn vectorised<R>(run: impl FnOnce() -> R) -> R {
    // A browser has one instruction set, for which the whole module is compiled.
    if cfg!(target_family = "wasm") {
        return run();
    }
    // pulp detects the CPU's vector extensions at run time; gemm uses it too.
    pulp::Arch::new().dispatch(run)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use pulp::x86::Arch;

    /// Each instruction set is a feature of `pulp`. Without the feature for AVX2, a processor with AVX2 would run every
    /// loop with the instructions of 2001.
    #[test]
    fn a_processor_with_avx2_uses_it() {
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            assert!(!matches!(Arch::new(), Arch::Scalar));
        } else {
            eprintln!("SKIPPED: this processor has no AVX2");
        }
    }
}
