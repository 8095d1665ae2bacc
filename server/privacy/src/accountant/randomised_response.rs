//! Randomised response: a client keeps its true category with a known probability, or says any other.

use crate::budget::{Epsilon, RangeError};

/// Derives the probabilities (of the true category, of each other one) that are `epsilon`-locally private.
///
/// Warner 1965; for k categories Kairouz, Bonawitz and Ramage 2016: e^ε / (e^ε + k − 1) and 1 / (e^ε + k − 1).
///
/// # Errors
/// [`RangeError`] for fewer than two categories.
pub fn randomised_response(epsilon: Epsilon, categories: u64) -> Result<(f64, f64), RangeError> {
    RangeError::unless(categories >= 2, "number of categories", categories as f64, "at least 2")?;
    let shrink = (-epsilon.get()).exp();
    let total = 1.0 + (categories - 1) as f64 * shrink;
    Ok((1.0 / total, shrink / total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probabilities_add_up_and_differ_by_epsilon() {
        for epsilon in [0.0, 0.5, 700.0] {
            let (keep, other) = randomised_response(Epsilon::new(epsilon).unwrap(), 5).unwrap();
            assert!((keep + 4.0 * other - 1.0).abs() < 1e-12);
            assert!(((keep / other).ln() - epsilon).abs() < 1e-9);
        }
        assert!(randomised_response(Epsilon::new(1.0).unwrap(), 1).is_err());
    }
}
