//! The tolerances between the two executors. The engine's tests include this file too.

use std::sync::OnceLock;

use folkmoot_graph::step::block_on;
use folkmoot_graph::{Graph, ValueId};

use super::{Gpu, Once, adapter};

/// The largest difference between a result of the GPU and the CPU's.
///
/// Both executors compute with 32 bits. They add in different orders, and may or may not fuse a product with the
/// following sum. The rounding error of a sum grows with the magnitude of its terms, not with that of the result. So
/// the tolerance of an element is `relative` times the largest magnitude in the tensor, plus `absolute` for tensors of
/// zeros.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    pub(super) relative: f32,
    pub(super) absolute: f32,
}

impl Tolerance {
    /// Checks all elements. NaN must be NaN in both results.
    ///
    /// # Panics
    /// Panics at the first element whose difference exceeds the tolerance.
    #[track_caller]
    pub(super) fn check(self, found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len(), "the numbers of elements differ");
        let allowed = self.relative * largest(expected) + self.absolute;
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let same = found == expected || (found.is_nan() && expected.is_nan());
            let close = (found - expected).abs() <= allowed;
            assert!(same || close, "element {index} is {found}, not {expected}; {allowed} is allowed");
        }
    }
}

/// Returns the largest magnitude of the finite elements, or 0 if there are none.
pub(super) fn largest(elements: &[f32]) -> f32 {
    let finite = elements.iter().filter(|element| element.is_finite());
    finite.fold(0f32, |largest, element| largest.max(element.abs()))
}

/// Returns the adapter for tests, which is opened once.
pub(super) fn gpu() -> Option<&'static Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    GPU.get_or_init(adapter::gpu).as_ref()
}

/// Runs a graph without parameters on the GPU.
pub(super) fn on_gpu(gpu: &Gpu, graph: &Graph, outputs: &[ValueId], inputs: &[&[f32]]) -> Vec<Vec<f32>> {
    let once = Once::new(gpu, graph, outputs).expect("the graph compiles");
    once.upload(inputs);
    once.run(7, 1).expect("the device works");
    block_on(once.outputs()).expect("the device works")
}

/// Returns numbers between -2 and 2 with a long period.
pub(super) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 22) as f32 - 2.0
    };
    std::iter::repeat_with(next).take(count).collect()
}
