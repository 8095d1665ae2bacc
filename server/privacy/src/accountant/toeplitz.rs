//! Lower-triangular Toeplitz factorisations of the prefix-sum matrix: correlated noise and its cost.
//!
//! With the prefix-sum matrix A = B·C, the release is A·x + B·z, where z has the standard deviation sens(C)·multiplier:
//! each step adds the noise (C⁻¹·z)_t. Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023,
//! "(Amplified) banded matrix factorization: a unified approach to private training".

use super::tree::ParticipationPattern;
use crate::budget::RangeError;

/// The matrix C, stored as its first column.
#[derive(Clone, Debug, PartialEq)]
pub struct Toeplitz(Vec<f64>);

impl Toeplitz {
    /// Creates C from its first column.
    ///
    /// # Errors
    /// [`RangeError`] unless the column begins with 1, is never below 0 and never rises, as the sensitivity formula
    /// requires.
    pub fn new(coefficients: Vec<f64>) -> Result<Self, RangeError> {
        let first = coefficients.first().copied().unwrap_or(0.0);
        RangeError::unless(first == 1.0, "first coefficient", first, "1")?;
        let mut before = 1.0;
        for &coefficient in &coefficients {
            let is_right = (0.0..=before).contains(&coefficient);
            RangeError::unless(
                is_right,
                "coefficient",
                coefficient,
                "at least 0 and at most the coefficient before it",
            )?;
            before = coefficient;
        }
        Ok(Self(coefficients))
    }

    /// Returns the factorisation without correlation: C is the identity.
    pub fn identity(rounds: usize) -> Self {
        Self::banded_square_root(rounds, 1)
    }

    /// Returns C = A^(1/2), whose entries are binomial(2i, i) / 4^i (Fichtenberger, Henzinger and Upadhyay 2023).
    pub fn square_root(rounds: usize) -> Self {
        Self::banded_square_root(rounds, rounds)
    }

    /// Returns the square root with only its first `bands` diagonals. A value of 0 for `rounds` or `bands` is treated
    /// as 1.
    pub fn banded_square_root(rounds: usize, bands: usize) -> Self {
        let mut coefficients = vec![0.0; rounds.max(1)];
        let mut coefficient = 1.0;
        for (index, place) in coefficients.iter_mut().enumerate().take(bands.max(1)) {
            if index > 0 {
                coefficient *= (2.0 * index as f64 - 1.0) / (2.0 * index as f64);
            }
            *place = coefficient;
        }
        Self(coefficients)
    }

    /// Returns the first column of C.
    pub fn coefficients(&self) -> &[f64] {
        &self.0
    }

    /// Computes the L2 sensitivity of C for a client with this participation pattern, as a multiple of the sensitivity
    /// of one participation.
    ///
    /// For entries that are not negative and never rise, the worst rounds are 0, b, 2b, ... The sensitivity is the norm
    /// of the sum of those columns (Kalinin and Lampert 2024, "Banded square root matrix factorization for
    /// differentially private model training", theorem 2).
    pub fn sensitivity(&self, pattern: ParticipationPattern) -> f64 {
        let rounds = self.0.len();
        let separation = usize::try_from(pattern.separation()).unwrap_or(usize::MAX);
        let participations = pattern.participations_within(rounds as u64) as usize;
        // Row i of the sum of the columns is the sum of every b-th entry up to i, less the same sum k·b rows earlier.
        let mut sums = self.0.clone();
        for row in separation.min(rounds)..rounds {
            sums[row] += sums[row - separation];
        }
        let width = separation.saturating_mul(participations);
        let square = |row: usize| {
            let taken = if row >= width { sums[row - width] } else { 0.0 };
            (sums[row] - taken).powi(2)
        };
        (0..rounds).map(square).sum::<f64>().sqrt()
    }

    /// Computes the first column of C⁻¹.
    pub fn inverse(&self) -> Vec<f64> {
        let bands = self.0.iter().rposition(|coefficient| *coefficient > 0.0).map_or(1, |last| last + 1);
        let mut inverse: Vec<f64> = vec![1.0];
        for row in 1..self.0.len() {
            let reach = row.min(bands - 1);
            let known: f64 = (1..=reach).map(|back| self.0[back] * inverse[row - back]).sum();
            inverse.push(-known);
        }
        inverse
    }

    /// Computes the error of the prefix sums.
    pub fn prefix_error(&self) -> PrefixError {
        PrefixError::of_inverse(&self.inverse())
    }
}

/// The standard deviation of the noise on prefix sums, in standard deviations of z: the row norms of B = A·C⁻¹.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixError {
    /// The standard deviation of the noise on the last prefix, which is the largest.
    pub largest: f64,
    /// The root mean square of the standard deviations of all prefixes.
    pub root_mean_square: f64,
}

impl PrefixError {
    /// Computes the error from the first column of C⁻¹.
    pub fn of_inverse(inverse: &[f64]) -> Self {
        let (mut entry, mut square, mut total) = (0.0, 0.0, 0.0);
        for coefficient in inverse {
            entry += coefficient;
            square += entry * entry;
            total += square;
        }
        Self { largest: square.sqrt(), root_mean_square: (total / inverse.len() as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sensitivity_is_the_norm_of_the_sum_of_the_columns() {
        for (rounds, separation, participations) in [(20, 3, 4), (20, 7, 9), (5, 9, 2), (50, 1, 50)] {
            let matrix = Toeplitz::square_root(rounds);
            let pattern = ParticipationPattern::new(participations as u64, separation as u64).unwrap();
            let mut sum = vec![0.0; rounds];
            for column in (0..rounds).step_by(separation).take(participations) {
                let entries = sum[column..].iter_mut().zip(matrix.coefficients());
                entries.for_each(|(sum, entry)| *sum += entry);
            }
            let norm = sum.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
            assert!((matrix.sensitivity(pattern) - norm).abs() < 1e-12 * norm);
        }
    }

    #[test]
    fn a_column_that_rises_is_refused() {
        for wrong in [vec![], vec![0.5], vec![1.0, -0.1], vec![1.0, 0.2, 0.3], vec![1.0, f64::NAN]] {
            assert!(Toeplitz::new(wrong).is_err());
        }
        assert_eq!(Toeplitz::new(vec![1.0, 0.0]), Ok(Toeplitz::identity(2)));
    }

    #[test]
    fn the_inverse_undoes_the_matrix() {
        let matrix = Toeplitz::banded_square_root(30, 7);
        let inverse = matrix.inverse();
        for row in 1..30 {
            let product: f64 = (0..=row).map(|back| matrix.coefficients()[back] * inverse[row - back]).sum();
            assert!(product.abs() < 1e-15);
        }
    }
}
