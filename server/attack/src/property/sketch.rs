use folkmoot_simulation::chance::{Stream, below};
use rand_chacha::rand_core::Rng;

use crate::purpose;

/// The number of values of a sketch.
const WIDTH: usize = 4_096;

/// Shortens long updates, so that thousands of them fit into memory: each value is added to a random place with a random sign, which keeps
/// inner products on average (Charikar, Chen and Farach-Colton 2002, "Finding frequent items in data streams"). Short updates stay whole.
pub(super) struct Sketch {
    seed: u64,
}

impl Sketch {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the sketch of an update. The places and signs depend on the seed only.
    pub(super) fn of(&self, update: Vec<f32>) -> Vec<f32> {
        if update.len() <= WIDTH {
            return update;
        }
        let mut rng = Stream::new(self.seed, &[purpose::SKETCH]);
        let mut sums = vec![0.0; WIDTH];
        for value in update {
            let place = below(&mut rng, WIDTH);
            let sign = if rng.next_u64() & 1 == 0 { 1.0 } else { -1.0 };
            sums[place] += sign * f64::from(value);
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_keeps_inner_products_and_short_updates() {
        let sketch = Sketch::new(3);
        assert_eq!(sketch.of(vec![1.0, -2.0]), [1.0, -2.0]);
        let dot = |one: &[f32], other: &[f32]| -> f64 {
            one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
        };
        let wave = |rate: f32| -> Vec<f32> { (0..20_000).map(|index| (index as f32 * rate).sin()).collect() };
        let (one, other) = (wave(0.37), wave(0.011));
        let (of_one, of_other) = (sketch.of(one.clone()), sketch.of(other.clone()));
        assert_eq!(of_one.len(), WIDTH);
        // The deviation of an inner product is about |one|·|other| / √width.
        let scale = (dot(&one, &one) * dot(&other, &other)).sqrt() / (WIDTH as f64).sqrt();
        assert!((dot(&of_one, &of_other) - dot(&one, &other)).abs() < 5.0 * scale);
        assert!((dot(&of_one, &of_one) / dot(&one, &one) - 1.0).abs() < 0.15);
        let sum: Vec<f32> = one.iter().zip(&other).map(|(one, other)| one + other).collect();
        let of_sum = sketch.of(sum);
        assert!(
            of_sum
                .iter()
                .zip(of_one.iter().zip(&of_other))
                .all(|(sum, (one, other))| (sum - one - other).abs() < 1e-4)
        );
    }
}
