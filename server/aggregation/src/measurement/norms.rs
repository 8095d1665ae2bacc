use super::squares::{BLOCK, Block, ZEROS, squared_differences, widen};

/// The squared Euclidean norms of n updates, in float64.
#[derive(Clone, Debug, PartialEq)]
pub struct Norms {
    squares: Vec<f64>,
}

impl Norms {
    /// Returns the norms of `updates` updates before any tile was added.
    pub fn new(updates: usize) -> Self {
        Self { squares: vec![0.0; updates] }
    }

    /// Adds one tile. `rows[i]` holds update i's values in the tile; all rows have the same length.
    ///
    /// Add the tiles in the order of the parameters. For bit-identical sums, cut the tiles the same way everywhere, or
    /// at multiples of [`BLOCK`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        let mut block = ZEROS;
        for (square, row) in self.squares.iter_mut().zip(rows) {
            add_squares(square, row, &mut block);
        }
    }

    /// Returns the number of updates.
    pub fn count(&self) -> usize {
        self.squares.len()
    }

    /// Returns the squared norm of update `index`.
    pub fn squared(&self, index: usize) -> f64 {
        self.squares[index]
    }
}

/// Adds the squares of one row of a tile. `block` is scratch space.
pub(super) fn add_squares<T: Copy + Into<f64>>(square: &mut f64, row: &[T], block: &mut Block) {
    for values in row.chunks(BLOCK) {
        widen(values, block);
        let [sum] = squared_differences(block, [&ZEROS]);
        *square += sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_by_hand() {
        let mut norms = Norms::new(2);
        norms.add_tile(&[&[3.0, 4.0], &[0.0, -1.0]]);
        norms.add_tile(&[&[12.0], &[1e20]]);
        assert_eq!(norms.count(), 2);
        assert_eq!(norms.squared(0), 169.0);
        assert_eq!(norms.squared(1), 1.0 + f64::from(1e20f32) * f64::from(1e20f32));
    }
}
