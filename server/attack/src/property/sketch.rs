use folkmoot_simulation::chance::{Stream, below};
use rand_chacha::rand_core::Rng;

use crate::purpose;

/// The number of values of a sketch.
const WIDTH: usize = 4_096;

/// Shortens long updates, so that thousands of them fit into memory: each value is added to a random place with a random sign, which keeps
/// inner products on average (Charikar, Chen and Farach-Colton 2002, "Finding frequent items in data streams"). Short updates stay whole.
pub(super) struct Sketch {
    /// The place and the sign of each value. Empty if updates are short.
    places: Vec<(usize, f64)>,
}

impl Sketch {
    /// Draws the places and signs for updates of this length from the seed.
    pub(super) fn new(seed: u64, length: usize) -> Self {
        let mut rng = Stream::new(seed, &[purpose::SKETCH]);
        let mut draw = |_| (below(&mut rng, WIDTH), if rng.next_u64() & 1 == 0 { 1.0 } else { -1.0 });
        let drawn = if length <= WIDTH { 0 } else { length };
        Self { places: (0..drawn).map(&mut draw).collect() }
    }

    /// Returns the sketch of an update.
    pub(super) fn of(&self, update: Vec<f32>) -> Vec<f32> {
        if update.len() <= WIDTH {
            return update;
        }
        let mut sums = vec![0.0; WIDTH];
        for ((place, sign), value) in self.places.iter().zip(update) {
            sums[*place] += sign * f64::from(value);
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_keeps_inner_products_and_short_updates() {
        assert_eq!(Sketch::new(3, 2).of(vec![1.0, -2.0]), [1.0, -2.0]);
        let sketch = Sketch::new(3, 20_000);
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
