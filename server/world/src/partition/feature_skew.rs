use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{FeatureNoise, Iid, Part, PartitionError};
use crate::setting::Check;

/// Deals independent and identically distributed (IID) samples, and adds noise to the features. The noise grows with
/// the client's number: client i of N, counted from 1, gets Gaussian noise of standard deviation level·i/N on every
/// feature.
///
/// Li et al. 2022, "Federated learning on non-IID data silos: an experimental study" (NIID-Bench), section 4,
/// noise-based feature imbalance. In contrast to the paper, the level is a standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSkew {
    /// The standard deviation of the noise at the last client, in the features' own unit; 0 or more.
    pub level: f64,
}

impl FeatureSkew {
    pub(super) fn deal(
        &self,
        examples: usize,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let mut check = Check::new("partition");
        check.not_negative("level", self.level);
        check.end()?;
        let seed = rng.next_u64();
        let mut parts = Iid {}.deal(examples, clients, rng);
        for (client, part) in parts.iter_mut().enumerate() {
            let standard_deviation = self.level * (client + 1) as f64 / clients as f64;
            part.noise = Some(FeatureNoise { standard_deviation, seed });
        }
        Ok(parts)
    }
}
