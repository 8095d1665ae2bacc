use super::{Distances, Norms};

/// The norms of n updates, and the cosine similarities of all pairs.
///
/// The cosine of two updates comes from their norms and their distance: (‖x‖² + ‖y‖² − ‖x − y‖²) / (2·‖x‖·‖y‖).
#[derive(Clone, Debug)]
pub struct Similarities {
    norms: Norms,
    distances: Distances,
}

impl Similarities {
    /// Creates the sums for `updates` updates, without any tile.
    pub fn new(updates: usize) -> Self {
        Self { norms: Norms::new(updates), distances: Distances::new(updates) }
    }

    /// Adds one tile. Tiles follow the rules of [`Distances::add_tile`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        self.norms.add_tile(rows);
        self.distances.add_tile(rows);
    }

    pub(crate) fn norms(&self) -> &Norms {
        &self.norms
    }

    /// Returns the cosine of the angle between two updates, in [−1, 1]. It is 0 if one of them is 0, or if it is not a number.
    pub(crate) fn cosine(&self, one: usize, other: usize) -> f64 {
        let (one_square, other_square) = (self.norms.squared(one), self.norms.squared(other));
        // The square root of the product is exact for equal norms.
        let product = (one_square * other_square).sqrt();
        if product == 0.0 {
            return 0.0;
        }
        let twice = one_square + other_square - self.distances.squared(one, other);
        let cosine = twice / (2.0 * product);
        if cosine.is_nan() { 0.0 } else { cosine.clamp(-1.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_by_hand() {
        let mut similarities = Similarities::new(5);
        similarities.add_tile(&[&[3.0], &[4.0], &[-6.0], &[0.0], &[f32::NAN]]);
        similarities.add_tile(&[&[4.0], &[3.0], &[-8.0], &[0.0], &[1.0]]);
        assert_eq!(similarities.norms().squared(0), 25.0);
        let row = [0, 1, 2, 3, 4].map(|other| similarities.cosine(0, other));
        assert_eq!(row, [1.0, 24.0 / 25.0, -1.0, 0.0, 0.0]);
    }
}
