use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    Combination, CoordinateRule, Measured,
    aggregator::Aggregator,
    byzantine_share::{count_of, expect_share},
};

/// The mean of each coordinate without its f smallest and its f largest values, where f = ⌊trim_share·n⌋, but at
/// least 1.
///
/// Yin et al. 2018, "Byzantine-robust distributed learning: towards optimal statistical rates", algorithm 1,
/// option II. It tolerates f hostile updates among n: one of them moves no coordinate by more than an honest
/// client can.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrimmedMean {
    /// The share of the updates that is removed at each end, in [0, 0.5).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.5, "examples" = [0.1])))]
    pub trim_share: f64,
}

impl TrimmedMean {
    /// Returns the number of values, out of `updates`, that are removed at each end. With few updates, a small share
    /// would round to 0, and a single update could control the mean. So the number is at least 1.
    fn trim_of(&self, updates: usize) -> usize {
        let is_cut = self.trim_share > 0.0 && updates > 2;
        count_of(self.trim_share, updates).max(usize::from(is_cut))
    }
}

impl Aggregator for TrimmedMean {
    fn combination(&self, weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        let trim = self.trim_of(weights.len());
        Combination::PerCoordinate(CoordinateRule::TrimmedMean { trim })
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        let remedy = "it must be 0 or above, and below 0.5, because 0.5 at each end would remove all updates";
        expect_share("aggregator.trim_share", self.trim_share, remedy, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_cut_off_of_few() {
        let trim_of = |trim_share, updates| TrimmedMean { trim_share }.trim_of(updates);
        assert_eq!(
            [0, 1, 2, 3, 9, 10, 19, 20, 100].map(|updates| trim_of(0.1, updates)),
            [0, 0, 0, 1, 1, 1, 1, 2, 10]
        );
        assert_eq!([3, 20].map(|updates| trim_of(0.0, updates)), [0, 0], "a share of 0 trims nothing");
        assert_eq!([3, 20].map(|updates| trim_of(0.49, updates)), [1, 9]);
    }
}
