use super::squares::{BLOCK, Block, ZEROS, squared_differences, widen};

/// The squared Euclidean norms of n updates, in float64.
#[derive(Clone, Debug, PartialEq)]
pub struct Norms {
    squares: Vec<f64>,
}

impl Norms {
    /// Makes the norms of `updates` updates of which nothing was seen yet.
    pub fn new(updates: usize) -> Self {
        Self { squares: vec![0.0; updates] }
    }

    /// Adds one tile: `rows[i]` is update i's values in it, all of one length.
    ///
    /// Tiles come in order and are always cut alike, or at multiples of [`BLOCK`]: then the sums have the same
    /// bits everywhere.
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        let mut block = ZEROS;
        for (square, row) in self.squares.iter_mut().zip(rows) {
            add_squares(square, row, &mut block);
        }
    }

    /// Returns how many updates there are.
    pub fn count(&self) -> usize {
        self.squares.len()
    }

    /// Returns the squared norm of update `index`.
    pub fn squared(&self, index: usize) -> f64 {
        self.squares[index]
    }
}

/// Adds the squares of one row of a tile. `block` is room to work in.
pub(super) fn add_squares(square: &mut f64, row: &[f32], block: &mut Block) {
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
