//! Adaptive clipping: the clipping norm follows a quantile of the clients' update norms. Each client reports one bit,
//! which says whether its update was at most the clipping norm. The sum of the bits gets noise of its own.
//!
//! Andrew, Thakkar, McMahan and Ramaswamy 2021, "Differentially private learning with adaptive clipping".

use serde::{Deserialize, Serialize};

use crate::budget::RangeError;
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The noise on the bits is too small: every noise multiplier for the updates would exceed the total cost.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SplitError {
    /// The sum of the bits alone already costs more than the total that is allowed for updates and bits.
    #[error(
        "the count of clipped updates has the noise multiplier {bits}; the budget for updates and count needs \
         more than {total}; raise the standard deviation of the count's noise above {needed}"
    )]
    NothingLeft {
        /// The multiplier of the noise on the bits.
        bits: f64,
        /// The noise multiplier of a single Gaussian release whose cost equals the total for updates and bits.
        total: f64,
        /// The standard deviation that the noise on the bits must exceed.
        needed: f64,
    },
    /// The multiplier left for the updates is out of range.
    #[error(transparent)]
    Range(#[from] RangeError),
}

/// Computes the noise multiplier of the updates, such that the total cost of updates and bits is that of one Gaussian
/// release with the multiplier `together`.
///
/// z_update = (z^-2 − (σ_b / Δ_b)^-2)^(-1/2), with z = `together` (section 3.1 and theorem 1 of the paper).
/// `bit_deviation` is σ_b, the standard deviation of the noise on the sum of (bit − 1/2). Δ_b is the sensitivity of
/// that sum: 1/2 if a client may be left out, 1 if it may be replaced.
///
/// # Errors
/// [`SplitError::NothingLeft`] if σ_b / Δ_b is at most z; [`SplitError::Range`] if `bit_deviation` is not above 0, or
/// the result is out of range.
pub fn update_multiplier(
    together: NoiseMultiplier,
    bit_deviation: f64,
) -> Result<NoiseMultiplier, SplitError> {
    let sensitivity = if together.relation() == Relation::ReplaceOne { 1.0 } else { 0.5 };
    RangeError::unless(bit_deviation > 0.0, "standard deviation of the bits", bit_deviation, "above 0")?;
    let (total, bits) = (together.get(), bit_deviation / sensitivity);
    if bits <= total {
        return Err(SplitError::NothingLeft { bits, total, needed: total * sensitivity });
    }
    // z·b / √(b² − z²) with z = `total` and b = `bits`. The difference of squares is computed as a product.
    let update = total / ((1.0 - total / bits) * (1.0 + total / bits)).sqrt();
    Ok(NoiseMultiplier::new(update, together.relation())?)
}

/// The rule by which the clipping norm follows the clients' update norms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClippingRule {
    /// The share γ of clients whose updates should not be clipped, in (0, 1).
    pub quantile: f64,
    /// The learning rate η of the norm's logarithm, above 0.
    pub learning_rate: f64,
}

impl Default for ClippingRule {
    /// The median and the learning rate 0.2, as in the paper.
    fn default() -> Self {
        Self { quantile: 0.5, learning_rate: 0.2 }
    }
}

impl ClippingRule {
    /// Returns the next clipping norm: C·exp(−η(b − γ)), equation 2 of the paper.
    ///
    /// `share` is b, the noised share of clients whose update norm was at most C. Noise may bring it outside [0, 1].
    pub fn next(&self, clipping_norm: f64, share: f64) -> f64 {
        clipping_norm * (-self.learning_rate * (share - self.quantile)).exp()
    }
}

/// Computes the unclipped share from the noised sum of (bit − 1/2) over the clients: sum / report goal + 1/2.
///
/// The divisor is the report goal, because the number of reports is itself private.
pub fn share_of_unclipped(noised_sum: f64, report_goal: u64) -> f64 {
    noised_sum / report_goal as f64 + 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_with_too_little_noise_is_refused_with_what_is_needed() {
        let together = NoiseMultiplier::new(1.0, Relation::ZeroOut).unwrap();
        let error = update_multiplier(together, 0.5).unwrap_err();
        assert!(
            error.to_string().ends_with("raise the standard deviation of the count's noise above 0.5"),
            "{error}"
        );
        let replaced = NoiseMultiplier::new(1.0, Relation::ReplaceOne).unwrap();
        assert!(update_multiplier(replaced, 0.9).is_err() && update_multiplier(together, 0.9).is_ok());
        for deviation in [0.0, -1.0, f64::NAN] {
            assert!(update_multiplier(together, deviation).is_err());
        }
    }

    #[test]
    fn both_together_cost_what_was_asked_for() {
        for relation in [Relation::ZeroOut, Relation::ReplaceOne] {
            let together = NoiseMultiplier::new(0.8, relation).unwrap();
            let update = update_multiplier(together, 3.0).unwrap().get();
            let bits = 3.0 / if relation == Relation::ReplaceOne { 1.0 } else { 0.5 };
            assert!((update.powi(-2) + f64::powi(bits, -2) - 0.8f64.powi(-2)).abs() < 1e-12);
        }
    }
}
