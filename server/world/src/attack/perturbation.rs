use serde::{Deserialize, Serialize};

use super::Known;

/// The direction in which `min_max` and `min_sum` move the mean of the known updates (Shejwalkar and Houmansadr 2021,
/// "Manipulating the Byzantine: optimizing model poisoning attacks and defenses for federated learning").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perturbation {
    /// Minus the standard deviation.
    #[default]
    StandardDeviation,
    /// Minus the mean, scaled to the length 1.
    UnitVector,
    /// Minus the sign of the mean.
    Sign,
}

impl Perturbation {
    pub(super) fn direction(self, known: &Known) -> Vec<f64> {
        match self {
            Perturbation::StandardDeviation => known.deviation.iter().map(|value| -value).collect(),
            Perturbation::UnitVector => {
                let norm = squared_norm(&known.mean).sqrt();
                known.mean.iter().map(|value| if norm > 0.0 { -value / norm } else { 0.0 }).collect()
            }
            Perturbation::Sign => known.mean.iter().map(|value| -sign(*value)).collect(),
        }
    }
}

/// Returns −1, 0 or 1.
pub(super) fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// Returns the squared L2 norm.
pub(super) fn squared_norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}
