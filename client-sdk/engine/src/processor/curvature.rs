//! The running mean of estimates of the Hessian's diagonal.

use folkmoot_protocol::LocalOptimizer;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::optimizer::{MatrixShape, sophia};

/// The random stream of the directions. Dropout has another one.
const STREAM: u64 = 0x50F1;

/// Estimates the curvature of each weight, for Sophia.
#[derive(Clone, Copy)]
pub(crate) struct Curvature {
    interval: u64,
    beta2: f64,
    /// The size of the vectors of an estimate, in numbers of double precision.
    vectors: usize,
}

impl Curvature {
    /// Returns the estimates of an optimizer for this many trained weights; `None` unless it is Sophia.
    pub(crate) fn of(optimizer: LocalOptimizer, trained: usize) -> Option<Self> {
        let LocalOptimizer::Sophia { interval, beta2, .. } = optimizer else { return None };
        // The direction, a product, and two gradients for it.
        Some(Self { interval: interval.into(), beta2: beta2.into(), vectors: 4 * trained })
    }

    /// Returns whether a step, counted from 0, begins with an estimate.
    pub(crate) fn is_due(self, step: u64) -> bool {
        step.is_multiple_of(self.interval)
    }

    /// Returns a random direction for a step with this seed: independent signs, which are exact if the Hessian is diagonal, and whose estimate
    /// has less variance than that of normal numbers (Hutchinson 1990).
    pub(crate) fn direction(self, seed: u64, length: usize) -> Vec<f64> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        rng.set_stream(STREAM);
        (0..length).map(|_| if rng.next_u32() % 2 == 0 { 1.0 } else { -1.0 }).collect()
    }

    /// Adds an estimate to the running means in the optimizer's state: `direction` times `product`, the Hessian's product with it. Both are
    /// one trained tensor after another, as the shapes are.
    pub(crate) fn note(self, direction: &[f64], product: &[f64], shapes: &[MatrixShape], state: &mut [f32]) {
        let estimates = direction.iter().zip(product).map(|(u, product)| u * product);
        let means = sophia::curvatures(shapes, state);
        for (mean, estimate) in means.zip(estimates) {
            *mean = (self.beta2 * f64::from(*mean) + (1.0 - self.beta2) * estimate) as f32;
        }
    }

    /// Returns the memory of an estimate besides its program, in bytes.
    pub(crate) fn memory_bytes(self) -> usize {
        self.vectors * size_of::<f64>()
    }
}
