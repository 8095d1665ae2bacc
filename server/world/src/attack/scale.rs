use serde::{Deserialize, Serialize};

/// Uploads factor·Δ (Bagdasaryan et al. 2020, "How to backdoor federated learning", section 4: with the cohort's
/// size as the factor, the mean becomes the attacker's model).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The factor, above 0.
    pub factor: f64,
}

impl Scale {
    pub(super) fn distort(&self, delta: &mut [f32]) {
        delta.iter_mut().for_each(|value| *value = (self.factor * f64::from(*value)) as f32);
    }
}
