use serde::{Deserialize, Serialize};

/// The largest number of clients whose sets are all evaluated: 4,096 sets a round.
const EXACT_CLIENTS_MAX: usize = 12;
/// The largest number of passes over the clients of a round.
const PASSES_MAX: usize = 1_000;

/// The settings for computing the contributions of clients: how many sets of clients are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContributionSettings {
    /// A round with at most this many updates gets exact Shapley values, which cost an evaluation for each set of its clients. At most
    /// 12; 0 to sample in every round.
    pub exact_clients_max: usize,
    /// The largest number of passes in a larger round, 1 to 1,000. A pass draws one order of the clients for each
    /// client, which comes first in this order.
    pub passes_max: usize,
    /// If values are sampled, a difference of the metric up to this one counts as 0. 0 or more.
    pub tolerance: f64,
}

impl Default for ContributionSettings {
    fn default() -> Self {
        Self { exact_clients_max: 8, passes_max: 10, tolerance: 0.001 }
    }
}

impl ContributionSettings {
    /// Returns the first fault: the setting, its value, and the allowed values. `None` if there is no fault.
    pub(crate) fn fault(&self) -> Option<(&'static str, f64, &'static str)> {
        let Self { exact_clients_max, passes_max, tolerance } = *self;
        if exact_clients_max > EXACT_CLIENTS_MAX {
            return Some(("contributions.exact_clients_max", exact_clients_max as f64, "0 to 12"));
        }
        if !(1..=PASSES_MAX).contains(&passes_max) {
            return Some(("contributions.passes_max", passes_max as f64, "1 to 1000"));
        }
        let is_fine = tolerance.is_finite() && tolerance >= 0.0;
        (!is_fine).then_some(("contributions.tolerance", tolerance, "0 or more"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_range() {
        let default = ContributionSettings::default();
        assert_eq!(default.fault(), None);
        for (settings, field) in [
            (ContributionSettings { exact_clients_max: 13, ..default }, "contributions.exact_clients_max"),
            (ContributionSettings { passes_max: 0, ..default }, "contributions.passes_max"),
            (ContributionSettings { tolerance: f64::NAN, ..default }, "contributions.tolerance"),
        ] {
            assert_eq!(settings.fault().map(|fault| fault.0), Some(field));
        }
    }
}
