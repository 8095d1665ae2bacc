use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::{Agreed, Cohort, Known};
use crate::setting::Check;

/// Uploads mean − z·standard deviation of the known updates: a shift that hides among honest updates, but is the same in
/// every round and parameter (Baruch, Baruch and Goldberg 2019, "A little is enough: circumventing defenses for
/// distributed learning", algorithm 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alie {
    /// The number z of standard deviations, 0 or more; `None` for the largest one with which the attack should have a
    /// majority in the cohort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
}

impl Alie {
    pub(super) fn check(self, check: &mut Check) {
        if let Some(z) = self.z {
            check.not_negative("attack.z", z);
        }
    }

    pub(super) fn agree(self, known: &Known) -> Agreed {
        known.shifted(&known.deviation, -self.z.unwrap_or_else(|| largest_z(known.cohort)))
    }
}

/// Returns the z of algorithm 3, steps 1 and 2. With n clients of which f are hostile, the attack has a majority if s =
/// ⌊n/2 + 1⌋ − f honest updates are further from the mean than its own. So z is the quantile of the standard normal
/// distribution at (n − f − s) / (n − f). It is 0 where this share is below one half. A hostile majority needs no
/// honest update, but is treated as if it needed one.
pub(super) fn largest_z(cohort: Cohort) -> f64 {
    let Cohort { clients, hostile } = cohort;
    let honest = clients.saturating_sub(hostile).max(1) as f64;
    let supporters = (clients / 2 + 1).saturating_sub(hostile).max(1) as f64;
    let below = (honest - supporters) / honest;
    if below > 0.5 { Normal::standard().inverse_cdf(below) } else { 0.0 }
}
