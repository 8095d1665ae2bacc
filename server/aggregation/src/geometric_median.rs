use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{
    Combination, CoordinateRule, Measured, Residuals, aggregator::Aggregator, passes::expect_iterations,
};

/// The geometric median: the point with the smallest sum of Euclidean distances to all updates, approximately.
///
/// Pillutla, Kakade and Harchaoui 2022, "Robust aggregation for federated learning", algorithm 2 (the smoothed Weiszfeld
/// algorithm), with equal weights. An iteration replaces the point z by Σ βᵢ·xᵢ / Σ βᵢ, where βᵢ = 1 / max(ν, ‖xᵢ − z‖).
/// The exact geometric median stays near the honest updates as long as fewer than half of the updates are hostile,
/// however far away these are.
///
/// The first z is the median of each coordinate. From the mean, which one update can move arbitrarily far, the algorithm
/// would need many iterations to come back: an iteration multiplies the odds of f hostile updates among n by
/// f / (n − f).
///
/// Weights and staleness are ignored, because a hostile client reports its own weight. Each iteration reads all updates
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct GeometricMedian {
    /// ν, the smallest distance that the algorithm distinguishes, above 0, in the units of the weights. It keeps the
    /// result smooth where the point meets an update.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub smoothing: f64,
    /// The number of iterations. Each one reads all updates of the round once more.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 32)))]
    pub iterations: u32,
}

impl Default for GeometricMedian {
    /// Returns the paper's ν and one iteration more than its 3, because the first starts from another point.
    fn default() -> Self {
        Self { smoothing: 1e-6, iterations: 4 }
    }
}

impl Aggregator for GeometricMedian {
    fn refinements(&self) -> u32 {
        self.iterations
    }

    fn combination(&self, _weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        Combination::PerCoordinate(CoordinateRule::Median)
    }

    fn refine(&self, residuals: &Residuals) -> Combination {
        let factors: Vec<f64> =
            residuals.distances().map(|distance| 1.0 / distance.max(self.smoothing)).collect();
        let divisor = factors.iter().sum();
        Combination::mean(factors, divisor)
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !self.smoothing.is_finite() || self.smoothing <= 0.0 {
            let remedy = "it must be above 0; use 1e-6 for most tasks";
            faults.push(Fault::new("aggregator.smoothing", format!("it is {}", self.smoothing), remedy));
        }
        expect_iterations(self.iterations, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AggregatorChoice;

    fn combine(median: GeometricMedian, rows: &[&[f32]]) -> Vec<f64> {
        AggregatorChoice::GeometricMedian(median).combine_whole(&vec![1; rows.len()], rows)
    }

    #[test]
    fn an_update_on_the_point_has_the_largest_weight() {
        // The median of each coordinate is the second row. Its weight is 1 / ν = 2, the others' 1 / 5 and 1 / 13.
        let median = GeometricMedian { smoothing: 0.5, iterations: 1 };
        let out = combine(median, &[&[3.0, 4.0], &[0.0, 0.0], &[-5.0, -12.0]]);
        let sum = 2.0 + 1.0 / 5.0 + 1.0 / 13.0;
        let expected = [(3.0 / 5.0 - 5.0 / 13.0) / sum, (4.0 / 5.0 - 12.0 / 13.0) / sum];
        assert!(
            out.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-15),
            "{out:?}"
        );
    }

    #[test]
    fn three_corners_meet_in_the_fermat_point() {
        // All angles of the triangle are below 120°. From the Fermat point (1, 1/√3), the corners are 120° apart.
        let rows: [&[f32]; 3] = [&[0.0, 0.0], &[2.0, 0.0], &[1.0, 3.0]];
        let out = combine(GeometricMedian { iterations: 32, ..GeometricMedian::default() }, &rows);
        assert!((out[0] - 1.0).abs() < 1e-9 && (out[1] - 1.0 / 3f64.sqrt()).abs() < 1e-9, "{out:?}");
    }

    #[test]
    fn one_far_update_pulls_by_its_direction_alone() {
        let far = |value: f32| {
            let rows: [&[f32]; 5] = [&[1.0, 0.0], &[0.0, 1.0], &[-1.0, 0.5], &[0.5, -1.0], &[value, value]];
            combine(GeometricMedian::default(), &rows)
        };
        let (near, distant) = (far(1e3), far(1e6));
        assert!(
            near.iter().zip(&distant).all(|(near, distant)| (near - distant).abs() < 1e-3),
            "{near:?} {distant:?}"
        );
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let faults = |smoothing, iterations| {
            let mut faults = Vec::new();
            GeometricMedian { smoothing, iterations }.validate(3, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!([faults(1e-9, 1), faults(1.0, 32)], [[""; 0]; 2]);
        for smoothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(faults(smoothing, 3), ["aggregator.smoothing"]);
        }
        assert_eq!([faults(1.0, 0), faults(1.0, 33)], [["aggregator.iterations"]; 2]);
    }
}
