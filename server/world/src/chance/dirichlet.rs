use rand::Rng;

use super::log_gamma_draw;

/// Draws `count` shares that add up to 1 from the symmetric Dirichlet distribution, as normalised gamma variates.
///
/// `alpha` is the concentration, above 0.
pub fn dirichlet(count: usize, alpha: f64, rng: &mut impl Rng) -> Vec<f64> {
    let logs: Vec<f64> = (0..count).map(|_| log_gamma_draw(alpha, rng)).collect();
    // Keep logarithms until the largest value is scaled to 1, because a small alpha gives values far below the smallest
    // `f64`.
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let draws: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let total: f64 = draws.iter().sum();
    draws.iter().map(|draw| draw / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Stream, samples::has_mean};

    #[test]
    fn dirichlet_shares_have_the_variance_of_the_distribution() {
        // Var = (1/k)(1 − 1/k) / (kα + 1), here 0.1875 / 3.
        let mut rng = Stream::new(3, &[]);
        let squares: Vec<f64> =
            (0..20_000).map(|_| (dirichlet(4, 0.5, &mut rng)[0] - 0.25).powi(2)).collect();
        assert!(has_mean(&squares, 0.0625));
    }
}
