//! Measures the amount of noise. Each bound holds with a stated probability for noise from any generator.

/// The negative logarithm of the probability with which a bound may fail, which is 1e-12. Each run of the suite checks bounds
/// in hundreds of worlds with new seeds, and a campaign in thousands, so a billionth would not be rare enough.
const CERTAINTY: f64 = 27.63;
const HALVINGS: u32 = 60;

/// Returns a lower bound on the mean of `count` squared standard normal values, relative to its expectation. The mean
/// is below the bound with a probability of 1e-12 (Chernoff: P(χ² ≤ x n) ≤ (x e^(1 − x))^(n/2)).
pub fn low_share(count: usize) -> f64 {
    share(count, 1e-12, 1.0)
}

/// Returns an upper bound, the counterpart of [`low_share`]. The mean exceeds it with a probability of 1e-12.
pub fn high_share(count: usize) -> f64 {
    share(count, 1.0 + 100.0 * CERTAINTY / count as f64 + 10.0, 1.0)
}

/// Searches for the bound between `strict`, at which its probability of failure is small enough, and `loose`, at which
/// it is not.
fn share(count: usize, mut strict: f64, mut loose: f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = (strict + loose) / 2.0;
        let is_strict = count as f64 / 2.0 * (middle - 1.0 - middle.ln()) >= CERTAINTY;
        if is_strict { strict = middle } else { loose = middle }
    }
    strict
}

/// Returns `true` if this number of heads in `tossed` coins with the probability `rate` has a probability below 1e-12.
/// Uses the Chernoff bound with the divergence of two coins.
pub fn too_many(tossed: u64, heads: u64, rate: f64) -> bool {
    let share = heads as f64 / tossed.max(1) as f64;
    let term = |of: f64, by: f64| if of > 0.0 { of * (of / by).ln() } else { 0.0 };
    share > rate && tossed as f64 * (term(share, rate) + term(1.0 - share, 1.0 - rate)) > CERTAINTY
}

/// The sum of squares of noise values that should all have the same standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    pub squares: f64,
    pub count: usize,
}

impl Energy {
    pub fn add(&mut self, values: impl IntoIterator<Item = f64>) {
        for value in values {
            self.squares += value * value;
            self.count += 1;
        }
    }

    /// Returns an upper bound on the standard deviation. It fails with a probability of 1e-12.
    pub fn deviation_max(&self) -> f64 {
        (self.squares / (self.count as f64 * low_share(self.count))).sqrt()
    }

    /// Returns `true` if the values are consistent with noise of this standard deviation.
    pub fn agrees_with(&self, deviation: f64) -> bool {
        let share = self.squares / (self.count as f64 * deviation * deviation);
        (low_share(self.count)..=high_share(self.count)).contains(&share)
    }
}

/// Noise that is correlated between versions and independent between parameters. It is stored as the matrix S of sums,
/// over the parameters, of the products of each two versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    sums: Vec<Vec<f64>>,
    parameters: usize,
}

impl Scatter {
    /// Adds the noise of all versions, in order. Each value is divided by `scale`.
    pub fn add(&mut self, versions: &[Vec<f64>], scale: f64) {
        self.sums.resize(versions.len(), vec![0.0; versions.len()]);
        self.parameters += versions.first().map_or(0, Vec::len);
        for (row, one) in self.sums.iter_mut().zip(versions) {
            for (sum, other) in row.iter_mut().zip(versions) {
                *sum += one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>() / (scale * scale);
            }
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.sums.resize(other.sums.len(), vec![0.0; other.sums.len()]);
        self.parameters += other.parameters;
        for (row, others) in self.sums.iter_mut().zip(&other.sums) {
            row.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        }
    }

    /// Returns a lower bound on the squared shift that a unit causes in all versions. It fails with a probability of
    /// 1e-12.
    ///
    /// The squared shift is sᵀ Σ⁻¹ s: the vector s has the unit's shift in each version, and Σ is the covariance of the
    /// noise between versions. S is Wishart distributed, from d parameters and n versions. So sᵀ Σ⁻¹ s / sᵀ S⁻¹ s is χ²
    /// distributed with d − n + 1 degrees of freedom, for any Σ (Muirhead 1982, theorem 3.2.12).
    pub fn square_min(&self, moves: &[f64]) -> f64 {
        let free = self.parameters + 1 - moves.len();
        self.inverse_product(moves) * free as f64 * low_share(free)
    }

    /// Solves S y = s by elimination and returns sᵀ y, which is sᵀ S⁻¹ s.
    fn inverse_product(&self, moves: &[f64]) -> f64 {
        let (mut matrix, mut right) = (self.sums.clone(), moves.to_vec());
        let mut product = 0.0;
        for pivot in 0..right.len() {
            // The matrix is positive definite, so no pivoting is needed. The product follows from the L D Lᵀ factors.
            product += right[pivot] * right[pivot] / matrix[pivot][pivot];
            let of_pivot = matrix[pivot].clone();
            for row in pivot + 1..right.len() {
                let factor = matrix[row][pivot] / of_pivot[pivot];
                matrix[row].iter_mut().zip(&of_pivot).for_each(|(one, pivot)| *one -= factor * pivot);
                right[row] -= factor * right[pivot];
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_squares_close_in_on_one() {
        for (count, low, high) in [(100, 0.28, 2.45), (1_000, 0.70, 1.38), (100_000, 0.967, 1.034)] {
            assert!(low_share(count) > low && low_share(count) < 1.0, "{}", low_share(count));
            assert!(high_share(count) < high && high_share(count) > 1.0, "{}", high_share(count));
        }
        let energy = Energy { squares: 4_000.0, count: 1_000 };
        assert!(energy.agrees_with(2.0) && !energy.agrees_with(1.0) && !energy.agrees_with(4.0));
        assert!((2.0..2.4).contains(&energy.deviation_max()));
    }

    #[test]
    fn a_coin_that_falls_too_often_is_found() {
        assert!(!too_many(1000, 100, 0.1) && !too_many(1000, 150, 0.1) && too_many(1000, 180, 0.1));
        assert!(
            !too_many(0, 0, 0.5) && !too_many(10, 10, 0.5) && too_many(40, 40, 0.5) && !too_many(9, 9, 1.0)
        );
    }

    #[test]
    fn a_product_with_an_inverse_is_the_one_by_hand() {
        let scatter = Scatter { sums: vec![vec![2.0, 1.0], vec![1.0, 3.0]], parameters: 1000 };
        // The inverse is [[3, -1], [-1, 2]] / 5.
        assert!((scatter.inverse_product(&[1.0, 2.0]) - 7.0 / 5.0).abs() < 1e-12);
        let mut same = Scatter::default();
        same.add(&[vec![2.0, 0.0], vec![1.0, 4.0]], 2.0);
        assert_eq!(same.sums, [[1.0, 0.5], [0.5, 4.25]]);
    }
}
