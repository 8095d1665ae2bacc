use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{Combination, Measured, Residuals, aggregator::Aggregator, passes::expect_iterations};

/// Centred clipping: moves a point v by the mean of the clipped differences between the updates and v, several times.
///
/// Karimireddy, He and Jaggi 2021, "Learning from history for Byzantine robust optimization": v ← v +
/// Σ (xᵢ − v)·min(1, τ/‖xᵢ − v‖) / n. The paper starts from the aggregate of the last round. Here every round starts from
/// v = 0, so the result depends on the round's updates alone.
///
/// One of n clients moves the result by at most 2·L·τ/n in the L2 norm, with L iterations: clipping to a ball moves no two
/// points apart, so neither does an iteration.
///
/// Weights and staleness are ignored, because a hostile client reports its own weight. Each iteration reads all updates once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentredClipping {
    /// τ, the largest L2 norm of a clipped difference, above 0, in the units of the weights. The norm of a typical honest
    /// update suits most tasks.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub norm_max: f64,
    /// The number of iterations (L). Each one reads all updates of the round once more.
    #[serde(default = "default_iterations")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 32)))]
    pub iterations: u32,
}

fn default_iterations() -> u32 {
    3
}

impl CentredClipping {
    /// Returns the bound on the change of the result by one of n clients, times n.
    pub fn influence(&self) -> f64 {
        2.0 * f64::from(self.iterations) * self.norm_max
    }
}

impl Aggregator for CentredClipping {
    fn refinements(&self) -> u32 {
        self.iterations
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::mean(vec![0.0; weights.len()], weights.len() as f64)
    }

    fn refine(&self, residuals: &Residuals) -> Combination {
        let Combination::Mean { factors, divisor } = residuals.around() else {
            unreachable!("centred clipping starts from a mean of factors 0")
        };
        // A distance of 0 makes the quotient infinite, so the update is not clipped.
        let kept: Vec<f64> =
            residuals.distances().map(|distance| (self.norm_max / distance).min(1.0)).collect();
        // v is a mean of the updates, so v·(1 − Σ kept / n) + Σ kept·xᵢ / n is one, too.
        let rest = 1.0 - kept.iter().sum::<f64>() / divisor;
        let factors = factors.iter().zip(&kept).map(|(factor, kept)| factor * rest + kept).collect();
        Combination::mean(factors, *divisor)
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !self.norm_max.is_finite() || self.norm_max <= 0.0 {
            let remedy = "it must be above 0; for most tasks, use the median norm of honest updates";
            faults.push(Fault::new("aggregator.norm_max", format!("it is {}", self.norm_max), remedy));
        }
        expect_iterations(self.iterations, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AggregatorChoice;

    fn combine(clipping: CentredClipping, rows: &[&[f32]]) -> Vec<f64> {
        AggregatorChoice::CentredClipping(clipping).combine_whole(&vec![1; rows.len()], rows)
    }

    #[test]
    fn differences_are_clipped_around_the_last_point() {
        let rows: [&[f32]; 2] = [&[6.0, 8.0], &[0.0, 0.0]];
        // From 0, (6, 8) is clipped to (3, 4), so v = (1.5, 2).
        assert_eq!(combine(CentredClipping { norm_max: 5.0, iterations: 1 }, &rows), [1.5, 2.0]);
        // From there, (4.5, 6) has norm 7.5 and is clipped to (3, 4); (−1.5, −2) is short enough.
        assert_eq!(combine(CentredClipping { norm_max: 5.0, iterations: 2 }, &rows), [2.25, 3.0]);
    }

    #[test]
    fn a_large_norm_leaves_the_mean() {
        let clipping = CentredClipping { norm_max: 100.0, iterations: 3 };
        assert_eq!(combine(clipping, &[&[6.0], &[1.0], &[-4.0], &[5.0]]), [2.0]);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let faults = |norm_max, iterations| {
            let mut faults = Vec::new();
            CentredClipping { norm_max, iterations }.validate(3, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!([faults(1e-9, 1), faults(1.0, 32)], [[""; 0]; 2]);
        for norm_max in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(faults(norm_max, 3), ["aggregator.norm_max"]);
        }
        assert_eq!([faults(1.0, 0), faults(1.0, 33)], [["aggregator.iterations"]; 2]);
    }
}
