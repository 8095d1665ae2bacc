use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{Combination, Measured, Measurement, aggregator::Aggregator};

/// The weighted mean of updates that are scaled down to a maximum norm: x·min(1, M/‖x‖).
///
/// Sun et al. 2019, "Can you really backdoor federated learning?" (norm thresholding). One update moves the model
/// by at most M times its share of the weights. This limits hostile updates, but it hides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NormBound {
    /// M, the largest Euclidean norm of an update, above 0, in the units of the weights.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub norm_max: f64,
}

impl Aggregator for NormBound {
    fn measurement(&self) -> Measurement {
        Measurement::Norms
    }

    fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination {
        let norms = measured.norms();
        let mut combination = Combination::attenuated_mean(weights.iter().copied(), attenuations);
        if let Combination::Mean { factors, .. } = &mut combination {
            for (index, factor) in factors.iter_mut().enumerate() {
                // A norm of 0 makes the quotient infinite, so the update keeps its factor.
                *factor *= (self.norm_max / norms.squared(index).sqrt()).min(1.0);
            }
        }
        combination
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !self.norm_max.is_finite() || self.norm_max <= 0.0 {
            let remedy = "it must be above 0; for most tasks, use the median norm of honest updates";
            faults.push(Fault::new("aggregator.norm_max", format!("it is {}", self.norm_max), remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_updates_are_shortened_and_short_ones_are_not() {
        let rows: [&[f32]; 3] = [&[3.0, 4.0], &[0.6, -0.8], &[0.0, 0.0]];
        let aggregator = NormBound { norm_max: 2.5 };
        let mut measured = Measured::new(aggregator.measurement(), 3, 0);
        measured.add_tile(&rows);
        let combination = aggregator.combination(&[4, 3, 1], &[0.5, 1.0, 1.0], &measured);
        assert_eq!(combination, Combination::Mean { factors: vec![1.0, 3.0, 1.0], divisor: 8.0 });
        let mut out = [0.0; 2];
        combination.combine(0, &rows, &mut out);
        // ((3, 4)·½·½·4 + (0.6, −0.8)·3) / 8.
        assert!((out[0] - 0.6).abs() < 1e-7 && (out[1] - 0.2).abs() < 1e-7, "{out:?}");
    }

    #[test]
    fn a_bound_must_be_above_0() {
        let faults = |norm_max| {
            let mut faults = Vec::new();
            NormBound { norm_max }.validate(1, 1, &mut faults);
            faults.len()
        };
        assert_eq!([1e-9, 0.0, -1.0, f64::NAN, f64::INFINITY].map(faults), [0, 1, 1, 1, 1]);
    }
}
