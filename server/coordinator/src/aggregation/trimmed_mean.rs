use serde::{Deserialize, Serialize};

use super::{
    Combination, CoordinateRule, Measured,
    aggregator::Aggregator,
    byzantine_share::{count_of, expect_share},
};
use crate::task::Fault;

/// The mean of each coordinate without its f smallest and its f largest values, where f = ⌊trim_share·n⌋.
///
/// Yin et al. 2018, "Byzantine-robust distributed learning: towards optimal statistical rates", algorithm 1,
/// option II. It bears f hostile updates of n; of fewer than 1 / trim_share updates nothing is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrimmedMean {
    /// The share of the updates that is cut off at each end, in [0, 0.5).
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 0.5, "examples" = [0.1])))]
    pub trim_share: f64,
}

impl Aggregator for TrimmedMean {
    fn combination(&self, weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        let trim = count_of(self.trim_share, weights.len());
        Combination::PerCoordinate(CoordinateRule::TrimmedMean { trim })
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        let remedy = "it must be 0 or above, and below 0.5: half at each end would leave nothing";
        expect_share("aggregator.trim_share", self.trim_share, remedy, faults);
    }
}
