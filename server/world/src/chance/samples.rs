//! Helpers for tests of random draws.

/// Returns whether the mean of `draws` is within 5 standard errors of `mean`. A correct generator fails once in two
/// million runs.
pub fn has_mean(draws: &[f64], mean: f64) -> bool {
    let count = draws.len() as f64;
    let found = draws.iter().sum::<f64>() / count;
    let variance = draws.iter().map(|draw| (draw - found).powi(2)).sum::<f64>() / (count - 1.0);
    (found - mean).abs() < 5.0 * (variance / count).sqrt()
}
