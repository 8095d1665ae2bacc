use serde::{Deserialize, Serialize};

/// Uploads −factor·Δ (Li et al. 2019, "RSA: Byzantine-robust stochastic aggregation methods for distributed
/// learning from heterogeneous datasets": the sign-flipping attack).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignFlip {
    /// The factor, above 0; 1 keeps the norm.
    pub factor: f64,
}

impl Default for SignFlip {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl SignFlip {
    pub(super) fn distort(&self, delta: &mut [f32]) {
        delta.iter_mut().for_each(|value| *value = (-self.factor * f64::from(*value)) as f32);
    }
}
