use serde::{Deserialize, Serialize};

use super::{Agreed, Known, perturbation::sign};

/// Uploads values beyond nearly all honest ones, against the direction in which the mean would move the parameter: between 3
/// and 4 standard deviations from the mean, drawn separately for each client and parameter (Fang et al. 2020, "Local model
/// poisoning attacks to Byzantine-robust federated learning", section 3: against the trimmed mean and the median, with
/// partial knowledge).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fang {
    /// The smallest number of standard deviations, 0 or more.
    pub from: f64,
    /// The largest number of standard deviations, at least `from`.
    pub to: f64,
}

impl Default for Fang {
    fn default() -> Self {
        Self { from: 3.0, to: 4.0 }
    }
}

impl Fang {
    pub(super) fn check(self, check: &mut crate::setting::Check) {
        check.not_negative("attack.from", self.from);
        let fine = self.to.is_finite() && self.to >= self.from;
        check.require("attack.to", self.to, fine, "a number that is not below `from`");
    }

    pub(super) fn agree(self, known: &Known) -> Agreed {
        let at = |count: f64| {
            let values = known.mean.iter().zip(&known.deviation);
            values.map(|(mean, deviation)| (mean - sign(*mean) * count * deviation) as f32).collect()
        };
        Agreed::Between(at(self.from), at(self.to))
    }
}
