use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{Combination, Extent, Measured, Measurement, aggregator::Aggregator, measurement::lower_median};

/// A weighted mean that limits the influence of each update.
///
/// Let b = √`influence_max`. Weights are capped at b times the median weight. An update is scaled down if its L2 norm
/// or its largest element exceeds b times the respective median of the round. This is norm thresholding (Sun et al.
/// 2019, "Can you really backdoor federated learning?"), with bounds computed from each round's medians.
///
/// The mean divides a weighted sum by the sum of the capped weights. As long as fewer than half of the updates are
/// hostile, no update adds more to the weighted sum of a parameter than `influence_max` times the product of the median
/// weight and the median largest element.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BoundedMean {
    /// The limit on the influence of one client, in multiples of a typical client's influence; at least 1.
    #[serde(default = "default_influence_max")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1.0)))]
    pub influence_max: f64,
}

fn default_influence_max() -> f64 {
    3.0
}

impl Default for BoundedMean {
    fn default() -> Self {
        Self { influence_max: default_influence_max() }
    }
}

impl Aggregator for BoundedMean {
    fn is_streaming(&self) -> bool {
        true
    }

    fn measurement(&self) -> Measurement {
        Measurement::Extents
    }

    fn combination(&self, weights: &[u64], attenuations: &[f64], measured: &Measured) -> Combination {
        // An update is summed unscaled when it arrives, because the medians are not known yet. When the round closes,
        // the excess is subtracted.
        let Measured::Extents(extents) = measured else {
            return Combination::attenuated_mean(weights.iter().copied(), attenuations);
        };
        let factor = self.influence_max.sqrt();
        let median_weight = lower_median(weights.iter().map(|weight| *weight as f64));
        let norm_max = factor * lower_median(extents.iter().map(Extent::norm));
        let peak_max = factor * lower_median(extents.iter().map(|extent| extent.peak));
        let capped: Vec<f64> =
            weights.iter().map(|weight| (*weight as f64).min(factor * median_weight)).collect();
        let divisor = capped.iter().sum();
        let kept =
            extents.iter().map(|extent| within(extent.norm(), norm_max).min(within(extent.peak, peak_max)));
        let factors = capped.iter().zip(kept).zip(attenuations);
        Combination::mean(
            factors.map(|((weight, kept), attenuation)| weight * kept * attenuation).collect(),
            divisor,
        )
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        if !(self.influence_max >= 1.0 && self.influence_max.is_finite()) {
            let remedy = "it must be at least 1; 3 allows the usual differences between clients";
            faults.push(Fault::new(
                "aggregator.influence_max",
                format!("it is {}", self.influence_max),
                remedy,
            ));
        }
    }
}

/// Returns the factor that scales an update of this size down to `largest`; 1 if the update is no larger.
fn within(size: f64, largest: f64) -> f64 {
    if size <= largest { 1.0 } else { largest / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(rows: &[&[f32]], weights: &[u64]) -> (Combination, Vec<f64>) {
        let aggregator = BoundedMean { influence_max: 4.0 };
        let mut measured = Measured::new(aggregator.measurement(), rows.len(), 0);
        measured.add_tile(rows);
        let combination = aggregator.combination(weights, &vec![1.0; rows.len()], &measured);
        let mut out = vec![0.0; rows[0].len()];
        combination.combine(0, rows, &mut out);
        (combination, out)
    }

    #[test]
    fn alike_updates_are_averaged_as_by_the_weighted_mean() {
        let rows: [&[f32]; 3] = [&[3.0, 4.0], &[4.0, 3.0], &[0.0, -5.0]];
        let (combination, _) = combined(&rows, &[2, 3, 4]);
        assert_eq!(combination, Combination::Mean { factors: vec![2.0, 3.0, 4.0], divisor: 9.0 });
    }

    #[test]
    fn weight_norm_and_peak_are_bounded_each_by_itself() {
        let typical: &[f32] = &[3.0, 4.0, 0.0, 0.0];
        // The medians are: weight 2, norm 5, largest element 4. The limits are twice the medians.
        let (heavy, _) = combined(&[typical, typical, typical], &[2, 2, 1000]);
        assert_eq!(heavy, Combination::Mean { factors: vec![2.0, 2.0, 4.0], divisor: 8.0 });
        let (long, _) = combined(&[typical, typical, &[8.0, 8.0, 8.0, 8.0]], &[1, 1, 1]);
        assert_eq!(long, Combination::Mean { factors: vec![1.0, 1.0, 10.0 / 16.0], divisor: 3.0 });
        let (peaked, out) = combined(&[typical, typical, &[0.0, 0.0, 0.0, 9.0]], &[1, 1, 1]);
        assert_eq!(peaked, Combination::Mean { factors: vec![1.0, 1.0, 8.0 / 9.0], divisor: 3.0 });
        assert!((out[3] - 8.0 / 3.0).abs() < 1e-12, "{out:?}");
    }

    /// Checks the bound documented on [`BoundedMean`], with one hostile client among twenty.
    #[test]
    fn one_client_moves_no_parameter_more_than_it_may() {
        for influence_max in [1.0, 3.0, 10.0] {
            let aggregator = BoundedMean { influence_max };
            let honest = Extent { square: 0.09, peak: 0.01 };
            for hostile in [Extent { square: 256.0, peak: 16.0 }, Extent { square: 1e12, peak: 16.0 }] {
                let mut extents = vec![honest; 20];
                extents[7] = hostile;
                let mut weights = vec![50; 20];
                weights[7] = 10_000;
                let measured = Measured::Extents(extents);
                let combination = aggregator.combination(&weights, &[1.0; 20], &measured);
                let Combination::Mean { factors, .. } = combination else {
                    unreachable!("the combination is a mean")
                };
                let moves = factors[7] * hostile.peak;
                assert!(moves <= influence_max * factors[0] * honest.peak * (1.0 + 1e-12), "{moves}");
            }
        }
    }

    #[test]
    fn nothing_and_one_update_are_what_they_are() {
        let one = combined(&[&[7.0, 0.0]], &[9]);
        assert_eq!(one.1, [7.0, 0.0]);
        let still = combined(&[&[0.0], &[0.0], &[5.0]], &[1, 1, 1]);
        assert_eq!(still.1, [0.0], "most updates are zero");
    }

    #[test]
    fn an_influence_below_one_is_refused() {
        let faults = |influence_max| {
            let mut faults = Vec::new();
            BoundedMean { influence_max }.validate(1, 1, &mut faults);
            faults.len()
        };
        assert_eq!([1.0, 3.0, 0.99, -1.0, f64::NAN, f64::INFINITY].map(faults), [0, 0, 1, 1, 1, 1]);
    }
}
