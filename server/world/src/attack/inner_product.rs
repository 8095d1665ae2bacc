use serde::{Deserialize, Serialize};

use super::{Agreed, Known};

/// Uploads −ε·mean of the known updates, so that the aggregate may point away from the mean of the honest updates (Xie,
/// Koyejo and Gupta 2020, "Fall of empires: breaking Byzantine-tolerant SGD by inner product manipulation").
///
/// A mean of n updates, f of them hostile, changes its sign if ε is above (n − f) / f. A small ε is for rules that prefer
/// small updates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InnerProduct {
    /// The factor ε, above 0.
    pub epsilon: f64,
}

impl Default for InnerProduct {
    fn default() -> Self {
        Self { epsilon: 0.5 }
    }
}

impl InnerProduct {
    pub(super) fn agree(self, known: &Known) -> Agreed {
        known.shifted(&known.mean, -1.0 - self.epsilon)
    }
}
