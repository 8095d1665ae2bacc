use serde::{Deserialize, Serialize};

use super::{Agreed, Known, Perturbation, known::Residual, perturbation::squared_norm};

/// Uploads mean + γ·perturbation. γ is as large as it can be while no known update is further from the upload than the two
/// known updates that are furthest apart (Shejwalkar and Houmansadr 2021, "Manipulating the Byzantine: optimizing model poisoning
/// attacks and defenses for federated learning": the attack Min-Max).
///
/// The paper searches γ by halving steps. Here it is the root of a quadratic equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MinMax {
    /// The direction of the perturbation.
    pub perturbation: Perturbation,
}

impl MinMax {
    pub(super) fn agree(self, known: &Known) -> Agreed {
        let direction = self.perturbation.direction(known);
        let (squared, diameter) = (squared_norm(&direction), known.squared_diameter());
        // ‖mean + γp − update‖² ≤ diameter² is γ²·‖p‖² + 2γ·⟨p, mean − update⟩ + ‖mean − update‖² ≤ diameter².
        let largest = |residual: Residual| {
            let room = (diameter - residual.squared_norm).max(0.0);
            ((residual.along.powi(2) + squared * room).sqrt() - residual.along) / squared
        };
        let factors = known.residuals(&direction).into_iter().map(largest);
        let factor = if squared > 0.0 { factors.fold(f64::INFINITY, f64::min) } else { 0.0 };
        known.shifted(&direction, factor)
    }
}
