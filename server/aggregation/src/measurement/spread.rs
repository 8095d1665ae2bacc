use super::{norms::add_squares, squares::ZEROS};
use crate::Combination;

/// The disagreement of updates: the mean of their squared norms, and the squared norm of their mean.
#[derive(Clone, Debug)]
pub struct Spread {
    mean: Combination,
    shares: Vec<f64>,
    squares: Vec<f64>,
    square_of_mean: f64,
}

impl Spread {
    /// Returns the spread of updates around `mean`, before any tile was added. Returns `None` if `mean` is no mean.
    pub(crate) fn around(mean: &Combination) -> Option<Self> {
        let Combination::Mean { factors, divisor } = mean else { return None };
        let shares: Vec<f64> = factors.iter().map(|factor| factor / divisor).collect();
        Some(Self { mean: mean.clone(), squares: vec![0.0; shares.len()], shares, square_of_mean: 0.0 })
    }

    /// Adds one tile. Tiles follow the rules of [`super::Norms::add_tile`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        let mut mean = vec![0.0; rows.first().map_or(0, |row| row.len())];
        self.mean.combine(0, rows, &mut mean);
        let mut block = ZEROS;
        add_squares(&mut self.square_of_mean, &mean, &mut block);
        for (square, row) in self.squares.iter_mut().zip(rows) {
            add_squares(square, row, &mut block);
        }
    }

    /// Returns Σ pᵢ·‖Δᵢ‖², where pᵢ is an update's share of the mean.
    pub fn mean_of_squares(&self) -> f64 {
        self.shares.iter().zip(&self.squares).map(|(share, square)| share * square).sum()
    }

    /// Returns ‖Σ pᵢ·Δᵢ‖².
    pub fn square_of_mean(&self) -> f64 {
        self.square_of_mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_by_hand() {
        let mut spread = Spread::around(&Combination::mean(vec![1.0, 3.0], 4.0)).unwrap();
        spread.add_tile(&[&[4.0, 0.0], &[0.0, 4.0]]);
        spread.add_tile(&[&[-2.0], &[2.0]]);
        assert_eq!(spread.mean_of_squares(), 20.0);
        // The mean is (1, 3, 1).
        assert_eq!(spread.square_of_mean(), 11.0);
        assert!(Spread::around(&Combination::PerCoordinate(crate::CoordinateRule::Median)).is_none());
    }
}
