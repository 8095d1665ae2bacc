use serde::{Deserialize, Serialize};

use super::{Agreed, Known, Perturbation, perturbation::squared_norm};

/// Uploads mean + γ·perturbation. γ is as large as it can be while the squared distances from the upload to all known updates
/// sum up to no more than those of some known update to the others (Shejwalkar and Houmansadr 2021, "Manipulating the
/// Byzantine: optimizing model poisoning attacks and defenses for federated learning": the attack Min-Sum).
///
/// The paper searches γ by halving steps. Here the sum of squared distances from a point x to k updates is
/// k·‖x − mean‖² plus a constant. So the upload may be as far from the mean as the furthest update is:
/// γ·‖perturbation‖ is the largest ‖update − mean‖.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MinSum {
    /// The direction of the perturbation.
    pub perturbation: Perturbation,
}

impl MinSum {
    pub(super) fn agree(self, known: &Known) -> Agreed {
        let direction = self.perturbation.direction(known);
        let squared = squared_norm(&direction);
        let furthest =
            known.residuals(&direction).iter().map(|residual| residual.squared_norm).fold(0.0, f64::max);
        let factor = if squared > 0.0 { (furthest / squared).sqrt() } else { 0.0 };
        known.shifted(&direction, factor)
    }
}
