use folkmoot_protocol::{Fault, saturating::to_length};
use serde::{Deserialize, Serialize};

use super::{TOLERANCE, choose};
use crate::{Combination, Measured, Measurement, aggregator::Aggregator, byzantine_share::count_of};

/// Multi-Krum: the uniform mean of the m updates with the lowest [`super::Krum`] scores. Each update is scored
/// once.
///
/// Blanchard et al. 2017, section 4 (Multi-Krum). Weights and staleness are ignored. If there are fewer than m
/// updates, n − f are chosen, and at least one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MultiKrum {
    /// The share of the updates that may be hostile, in [0, 0.5).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.5, "examples" = [0.2])))]
    pub byzantine_share: f64,
    /// The number of chosen updates (m): 1 to n − f. The default is n − f.
    ///
    /// The paper's theorem holds for m up to n − f − 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub chosen: Option<u64>,
}

impl MultiKrum {
    fn chosen_of(&self, updates: usize) -> usize {
        let honest = updates - count_of(self.byzantine_share, updates);
        self.chosen.map_or(honest, |chosen| honest.min(to_length(chosen)).max(1))
    }
}

impl Aggregator for MultiKrum {
    fn measurement(&self) -> Measurement {
        Measurement::Distances
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        let updates = weights.len();
        choose(measured.distances(), count_of(self.byzantine_share, updates), self.chosen_of(updates))
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(self.chosen_of(to_length(updates)) as u64)
    }

    fn validate(&self, cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        TOLERANCE.expect_cohort(self.byzantine_share, cohort_min, cohort_max, faults);
        let updates = to_length(cohort_min);
        let honest = (updates - count_of(self.byzantine_share, updates)) as u64;
        if let Some(chosen) = self.chosen.filter(|chosen| *chosen == 0 || *chosen > honest) {
            let hostile = cohort_min - honest;
            let message = format!("it is {chosen}, but {hostile} of {cohort_min} updates may be hostile");
            let remedy = format!("set it to 1 to {honest}, or remove it to choose {honest} updates");
            faults.push(Fault::new("aggregator.chosen", message, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_chosen_as_can_be_honest() {
        let chosen_of = |chosen, updates| MultiKrum { byzantine_share: 0.2, chosen }.chosen_of(updates);
        assert_eq!([0, 1, 2, 5, 10].map(|updates| chosen_of(None, updates)), [0, 1, 2, 4, 8]);
        assert_eq!([1, 2, 5, 10].map(|updates| chosen_of(Some(5), updates)), [1, 2, 4, 5]);
        assert_eq!(chosen_of(Some(0), 5), 1);
    }

    #[test]
    fn none_and_too_many_are_refused() {
        let faults = |chosen| {
            let mut faults = Vec::new();
            MultiKrum { byzantine_share: 0.2, chosen }.validate(10, 20, &mut faults);
            faults.len()
        };
        assert_eq!([None, Some(1), Some(8), Some(0), Some(9)].map(faults), [0, 0, 0, 1, 1]);
    }
}
