use serde::{Deserialize, Serialize};

use super::ValueGrid;

/// The maximum number of clients in one secure sum.
pub const COHORT_MAX: u64 = 10_000;

/// The terms of a plan's secure aggregation. Every client derives the degree of the masking graph and the threshold from
/// them, so that a coordinator cannot choose weaker ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SecureTerms {
    /// The smallest number of updates in a sum. Nobody, client or member of a committee, helps to unmask fewer.
    pub cohort_min: u64,
    /// The largest number of clients in a sum. With the grid, it determines the size of the ring.
    pub cohort_max: u64,
    /// The assumed share of clients that collude with the coordinator, in [0, 1).
    pub corrupt_share: f64,
    /// The assumed share of clients that drop out after they have exchanged keys, or were drawn, in [0, 1).
    pub dropout_share: f64,
    /// The assumed behaviour of the coordinator.
    pub threat: Threat,
    /// True if each client multiplies its update by its weight. If false, every update counts the same.
    pub is_weighted: bool,
    /// The noise that clients add before they mask, so that the sum is differentially private. A client that does not support
    /// it refuses the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<DistributedNoise>,
}

/// Distributed differential privacy: each client adds a share of the noise, and only the sum of all shares is seen.
///
/// A client derives its share from the smallest sum that it helps to unmask, less the clients that may collude, so that the
/// coordinator cannot ask for less (Kairouz, Liu and Steinke 2021, "The distributed discrete Gaussian mechanism for federated
/// learning with secure aggregation").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DistributedNoise {
    /// The largest L2 norm of an update over all tensors, before it is rounded, in steps of the plan's grid
    /// (2^-fraction_bits).
    pub clipping_norm: u64,
    /// The standard deviation of the noise in the smallest sum, divided by the largest norm of a rounded update.
    pub noise_multiplier: f64,
}

/// The behaviour of the coordinator against which the clients are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Threat {
    /// The coordinator follows the protocol and tries to learn more from the messages.
    #[default]
    HonestButCurious,
    /// The coordinator may send different messages to different clients. Costs one more step, a larger graph and a
    /// higher threshold.
    Malicious,
}

/// Terms that no round can follow.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SecureTermsFault {
    /// The cohort is too small or too large.
    #[error(
        "secure aggregation of {min} to {max} clients is impossible; the minimum must be at least 3, and the maximum at least \
         the minimum and at most {COHORT_MAX}"
    )]
    Cohort {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// A share is not in [0, 1).
    #[error("{name} is {value}; it must be at least 0 and less than 1")]
    Share {
        /// The name of the share.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The noise is not positive, or the updates are weighted.
    #[error(
        "noise of {} times a norm of {} steps is impossible; both must be above 0 and finite, and updates must not be weighted",
        .0.noise_multiplier,
        .0.clipping_norm
    )]
    Noise(DistributedNoise),
}

impl SecureTerms {
    /// Returns the grid on which an update is masked: the plan's grid, without weights if all updates count the same.
    pub fn grid(&self, grid: &ValueGrid) -> ValueGrid {
        ValueGrid { weight_max: if self.is_weighted { grid.weight_max } else { 1 }, ..*grid }
    }

    /// Checks that a round can follow the terms.
    ///
    /// # Errors
    /// The first [`SecureTermsFault`].
    pub fn check(&self) -> Result<(), SecureTermsFault> {
        let Self { cohort_min: min, cohort_max: max, .. } = *self;
        if min < 3 || max < min || max > COHORT_MAX {
            return Err(SecureTermsFault::Cohort { min, max });
        }
        for (name, value) in [("corrupt_share", self.corrupt_share), ("dropout_share", self.dropout_share)] {
            if !(0.0..1.0).contains(&value) {
                return Err(SecureTermsFault::Share { name, value });
            }
        }
        match self.noise {
            Some(noise) if self.is_weighted || noise.clipping_norm == 0 || !noise.is_positive() => {
                Err(SecureTermsFault::Noise(noise))
            }
            _ => Ok(()),
        }
    }
}

impl DistributedNoise {
    fn is_positive(&self) -> bool {
        self.noise_multiplier > 0.0 && self.noise_multiplier.is_finite()
    }
}
