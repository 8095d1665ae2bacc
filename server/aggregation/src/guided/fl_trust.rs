use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::validate_examples;
use crate::{Combination, Measured, Projections, aggregator::Aggregator};

/// FLTrust: a mean of updates with the length of an update that the coordinator trains itself, weighted by how much their directions
/// agree with it.
///
/// Cao, Fang, Liu and Gong 2021, "FLTrust: Byzantine-robust federated learning via trust bootstrapping", algorithm 2. The coordinator
/// trains on its own examples by the task's plan, which gives the root update g₀. The trust score of update gᵢ is
/// TSᵢ = ReLU(cos(gᵢ, g₀)) (equation 2), and the aggregate is Σ TSᵢ·(‖g₀‖ / ‖gᵢ‖)·gᵢ / Σ TSᵢ (equations 3 and 4). If all trust scores
/// are 0, the aggregate is 0, so the model stays.
///
/// The aggregate is never longer than the root update, however many clients are hostile. Weights are ignored, because a hostile
/// client reports its own. The coordinator trains at each commit and reads all updates twice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlTrust {
    /// The number of your own examples, uploaded with the task, from which the coordinator trains the root update. A hash picks them. A
    /// central evaluation measures on the others. The paper uses 100.
    #[serde(default = "default_examples")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub examples: u64,
}

fn default_examples() -> u64 {
    100
}

impl Default for FlTrust {
    fn default() -> Self {
        Self { examples: default_examples() }
    }
}

impl FlTrust {
    /// Returns the rule that combines updates with these projections on the root update. Returns `None` if all trust scores are 0.
    pub fn trusted(projections: &Projections) -> Option<Combination> {
        let root = projections.direction_norm();
        let scores: Vec<f64> = projections.cosines().map(|cosine| cosine.max(0.0)).collect();
        let divisor: f64 = scores.iter().sum();
        // An update with a score above 0 has a length above 0.
        let factors = scores.iter().zip(projections.norms()).map(|(score, norm)| match *score > 0.0 {
            true => score * root / norm,
            false => 0.0,
        });
        (divisor > 0.0).then(|| Combination::Mean { factors: factors.collect(), divisor })
    }
}

impl Aggregator for FlTrust {
    fn combination(&self, _weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        unreachable!("the coordinator's examples decide, so the coordinator combines the updates")
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(1)
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        validate_examples(self.examples, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(rows: &[&[f32]], root: &[f32]) -> Option<Vec<f64>> {
        let mut projections = Projections::new(rows.len());
        projections.add_tile(rows, root);
        let mut out = vec![f64::NAN; root.len()];
        FlTrust::trusted(&projections)?.combine(0, rows, &mut out);
        Some(out)
    }

    #[test]
    fn an_update_counts_by_its_angle_and_with_the_length_of_the_root_update() {
        // cos((3, 4), (2, 0)) = 0.6 and cos((7, 0), (2, 0)) = 1; the third update points away.
        let rows: [&[f32]; 4] = [&[3.0, 4.0], &[7.0, 0.0], &[-50.0, 1.0], &[0.0, 0.0]];
        let expected = [(0.6 * 1.2 + 2.0) / 1.6, 0.6 * 1.6 / 1.6];
        let found = combined(&rows, &[2.0, 0.0]).expect("two updates are trusted");
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn nobody_is_trusted_if_all_point_away_or_the_root_update_is_zero() {
        assert_eq!(combined(&[&[-1.0, 5.0], &[0.0, 3.0]], &[2.0, 0.0]), None);
        assert_eq!(combined(&[&[1.0, 5.0]], &[0.0, 0.0]), None);
    }

    #[test]
    fn the_number_of_examples_has_limits() {
        let fields = |examples| {
            let mut faults = Vec::new();
            FlTrust { examples }.validate(1, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!([fields(1), fields(100_000)], [[""; 0]; 2]);
        assert_eq!([fields(0), fields(100_001)], [["aggregator.examples"]; 2]);
    }
}
