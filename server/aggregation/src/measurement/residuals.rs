use super::squares::{BLOCK, ZEROS, squared_differences, widen};
use crate::Combination;

/// The squared Euclidean distances of n updates to the result of a combination, in float64.
///
/// The result is computed again for every tile and never stored whole, so memory does not depend on the size of the
/// model.
#[derive(Clone, Debug)]
pub struct Residuals {
    around: Combination,
    squares: Vec<f64>,
    centre: Vec<f64>,
}

impl Residuals {
    /// Returns the distances of `updates` updates to the result of `around`, before any tile was added.
    pub(crate) fn new(around: Combination, updates: usize) -> Self {
        Self { around, squares: vec![0.0; updates], centre: Vec::new() }
    }

    /// Adds one tile. Tiles follow the rules of [`super::Norms::add_tile`].
    pub(super) fn add_tile(&mut self, rows: &[&[f32]]) {
        self.centre.resize(rows.first().map_or(0, |row| row.len()), 0.0);
        self.around.combine(0, rows, &mut self.centre);
        let (mut centre, mut block) = (ZEROS, ZEROS);
        for (index, values) in self.centre.chunks(BLOCK).enumerate() {
            widen(values, &mut centre);
            let start = index * BLOCK;
            for (square, row) in self.squares.iter_mut().zip(rows) {
                widen(&row[start..start + values.len()], &mut block);
                let [sum] = squared_differences(&block, [&centre]);
                *square += sum;
            }
        }
    }

    /// Returns the combination to whose result the distances are.
    pub(crate) fn around(&self) -> &Combination {
        &self.around
    }

    /// Returns the distance of every update, in the order of the updates.
    pub(crate) fn distances(&self) -> impl Iterator<Item = f64> + '_ {
        self.squares.iter().map(|square| square.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_by_hand() {
        // The mean is (2, 2), then 1 in the second tile.
        let mut residuals = Residuals::new(Combination::mean(vec![1.0, 1.0], 2.0), 2);
        residuals.add_tile(&[&[5.0, 6.0], &[-1.0, -2.0]]);
        residuals.add_tile(&[&[13.0], &[-11.0]]);
        assert_eq!(residuals.distances().collect::<Vec<_>>(), [13.0, 13.0]);
    }

    #[test]
    fn the_centre_is_not_rounded_to_float32() {
        let mut residuals = Residuals::new(Combination::mean(vec![1.0, 1.0, 1.0], 3.0), 3);
        residuals.add_tile(&[&[1.0], &[0.0], &[0.0]]);
        let third = 1.0 / 3.0;
        assert_eq!(residuals.distances().collect::<Vec<_>>(), [1.0 - third, third, third]);
    }
}
