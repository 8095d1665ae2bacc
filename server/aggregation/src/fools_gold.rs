use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::{Combination, Measured, Measurement, aggregator::Aggregator, measurement::Similarities};

/// The maximum number of updates in a round of FoolsGold. Work and memory grow with its square.
pub const FOOLS_GOLD_UPDATES_MAX: u64 = 4096;

/// The largest trust before the logit, whose value at 1 is infinite.
const TRUST_MAX: f64 = 0.99;
/// A smaller trust is only a rounding error of the cosines.
const TRUST_MIN: f64 = 1e-9;

/// FoolsGold without memory: a mean in which updates that resemble another update of the round count less, or not at all.
///
/// Fung, Yoon and Beschastnikh 2020, "The limitations of federated learning in Sybil settings", algorithm 1. Clients under the
/// control of one attacker send updates with the same aim, and honest clients whose data differ do not.
///
/// 1. cᵢⱼ is the cosine of the updates of i and j, and vᵢ = max(0, maxⱼ cᵢⱼ).
/// 2. Pardoning: if vᵢ < vⱼ, then cᵢⱼ is multiplied by vᵢ / vⱼ. It is for honest clients that resemble an attacker by chance.
/// 3. The trust is 1 − maxⱼ cᵢⱼ within [0, 1], divided by the largest trust, and at most 0.99.
/// 4. The weight αᵢ is κ·(ln(trust / (1 − trust)) + 0.5) within [0, 1].
///
/// The result is Σ αᵢ·xᵢ·min(1, M/‖xᵢ‖) / Σ αᵢ. Three things differ from the paper:
///
/// - **It compares the updates of one round.** The paper compares the sums of all updates that each client ever sent. The coordinator
///   keeps no updates of single clients after a round. So an attacker whose clients send different updates in each round, which
///   only add up to the same aim over many rounds, is not noticed.
/// - All parameters count alike. The paper can give those of the output layer more weight.
/// - The norm bound M comes first, because the weights depend on directions alone. The paper adds Σ αᵢ·xᵢ, and this is a mean.
///
/// A lone attacker resembles nobody, so it has full weight: this rule does not replace a robust rule against single clients. If
/// the data of honest clients are alike, so are their updates, and the rule gives weight to few of them. If all updates have the
/// same direction up to rounding, all count alike.
///
/// The clients' own weights and staleness are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FoolsGold {
    /// M, the largest L2 norm of an update, above 0, in the units of the weights. Longer updates are scaled down to it.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
    pub norm_max: f64,
    /// κ, the steepness of the weights, above 0. With a larger κ, more updates have either full weight or none.
    #[serde(default = "default_confidence")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub confidence: f64,
}

fn default_confidence() -> f64 {
    1.0
}

impl FoolsGold {
    /// Returns the weight of each update.
    fn weights(&self, similarities: &Similarities, updates: usize) -> Vec<f64> {
        let others = |one: usize| (0..updates).filter(move |other| *other != one);
        let largest =
            |one: usize| others(one).map(|other| similarities.cosine(one, other)).fold(0.0, f64::max);
        let largest: Vec<f64> = (0..updates).map(largest).collect();
        let pardoned = |one: usize, other: usize| {
            let cosine = similarities.cosine(one, other);
            let (own, others) = (largest[one], largest[other]);
            if own < others { cosine * own / others } else { cosine }
        };
        let trust = |one: usize| {
            let most = others(one).map(|other| pardoned(one, other)).fold(0.0, f64::max);
            if similarities.norms().squared(one).is_finite() { (1.0 - most).clamp(0.0, 1.0) } else { 0.0 }
        };
        let trusts: Vec<f64> = (0..updates).map(trust).collect();
        let most = trusts.iter().copied().fold(0.0, f64::max);
        if most < TRUST_MIN {
            let is_finite = |one: usize| similarities.norms().squared(one).is_finite();
            return (0..updates).map(|one| f64::from(is_finite(one))).collect();
        }
        let weight = |trust: f64| {
            let trust = (trust / most).min(TRUST_MAX);
            (self.confidence * (libm::log(trust / (1.0 - trust)) + 0.5)).clamp(0.0, 1.0)
        };
        trusts.into_iter().map(weight).collect()
    }
}

impl Aggregator for FoolsGold {
    fn measurement(&self) -> Measurement {
        Measurement::Similarities
    }

    fn combination(&self, weights: &[u64], _attenuations: &[f64], measured: &Measured) -> Combination {
        let similarities = measured.similarities();
        let weights = self.weights(similarities, weights.len());
        let divisor = weights.iter().sum();
        // A norm of 0 makes the quotient infinite, so the update keeps its weight.
        let bounded = |(index, weight): (usize, f64)| {
            weight * (self.norm_max / similarities.norms().squared(index).sqrt()).min(1.0)
        };
        Combination::mean(weights.into_iter().enumerate().map(bounded).collect(), divisor)
    }

    fn combined(&self, updates: u64) -> u64 {
        updates.min(1)
    }

    fn validate(&self, _cohort_min: u64, cohort_max: u64, faults: &mut Vec<Fault>) {
        for (field, value, remedy) in [
            (
                "norm_max",
                self.norm_max,
                "it must be above 0; for most tasks, use the median norm of honest updates",
            ),
            ("confidence", self.confidence, "it must be above 0; use 1 for most tasks"),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                faults.push(Fault::new(&format!("aggregator.{field}"), format!("it is {value}"), remedy));
            }
        }
        if cohort_max > FOOLS_GOLD_UPDATES_MAX {
            let message = format!("a cohort of {cohort_max} is too large to compare all pairs of updates");
            let remedy = format!(
                "limit the cohort to {FOOLS_GOLD_UPDATES_MAX}, or choose aggregator.kind = \"median\" or \"trimmed_mean\""
            );
            faults.push(Fault::new("scheduling.report_goal", message, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(confidence: f64, rows: &[&[f32]]) -> Vec<f64> {
        let mut similarities = Similarities::new(rows.len());
        similarities.add_tile(rows);
        FoolsGold { norm_max: 1.0, confidence }.weights(&similarities, rows.len())
    }

    /// The expected numbers come from these lines, with numpy 2.4.6:
    ///
    /// ```python
    /// x = np.array([[4, 0, 0, 1], [0, 3, 0, 1], [0, 1, 5, 0], [1, 1, -2, 2], [1, 1, -2, 2.5], [2, 2, -4, 5]])
    /// n = np.linalg.norm(x, axis=1); c = x @ x.T / np.outer(n, n); np.fill_diagonal(c, 0)
    /// v = c.max(1); pardoned = np.where(v[:, None] < v, c * v[:, None] / v, c)
    /// trust = np.clip(1 - pardoned.max(1), 0, 1); trust = np.minimum(trust / trust.max(), 0.99)
    /// with np.errstate(divide="ignore"): np.clip(k * (np.log(trust / (1 - trust)) + 0.5), 0, 1)
    /// ```
    #[test]
    fn the_weights_are_numpys() {
        let rows: [&[f32]; 6] = [
            &[4.0, 0.0, 0.0, 1.0],
            &[0.0, 3.0, 0.0, 1.0],
            &[0.0, 1.0, 5.0, 0.0],
            &[1.0, 1.0, -2.0, 2.0],
            &[1.0, 1.0, -2.0, 2.5],
            &[2.0, 2.0, -4.0, 5.0],
        ];
        for (confidence, expected) in [
            (0.1, [0.21994163180396528, 0.19122806103762896, 0.509511985013459, 0.0, 0.0, 0.0]),
            (1.0, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        ] {
            let found = weights(confidence, &rows);
            let is_near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9);
            assert!(is_near, "{confidence}: {found:?}");
        }
    }

    #[test]
    fn long_updates_are_scaled_down_to_the_norm_bound() {
        let rows: [&[f32]; 3] = [&[3.0, 4.0], &[-0.8, 0.6], &[0.0, 0.0]];
        let rule = FoolsGold { norm_max: 2.5, confidence: 1.0 };
        let mut measured = Measured::new(rule.measurement(), 3, 0);
        measured.add_tile(&rows);
        // The first two are at a right angle, so all have full weight.
        let combination = rule.combination(&[900, 1, 1], &[1.0, 0.5, 1.0], &measured);
        assert_eq!(combination, Combination::Mean { factors: vec![0.5, 1.0, 1.0], divisor: 3.0 });
    }

    #[test]
    fn copies_count_for_nothing_and_copies_alone_count_alike() {
        assert_eq!(weights(1.0, &[&[1.0, 0.0], &[0.0, 1.0], &[0.0, 1.0], &[0.0, 7.0]]), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(weights(1.0, &[&[1.0, 2.0], &[1.0, 2.0]]), [1.0, 1.0]);
        // The cosines of multiples are 1 up to rounding.
        let direction = [1.1f32, 2.3, 3.7, -0.4];
        let rows = [1.0f32, 3.0, 0.7, 1.3, 5.0].map(|factor| direction.map(|value| factor * value));
        let rows = rows.each_ref().map(<[f32; 4]>::as_slice);
        assert_eq!(weights(1.0, &rows), [1.0; 5]);
        assert_eq!(weights(1.0, &[&[1.0]]), [1.0]);
        assert_eq!(weights(1.0, &[]), [0.0; 0]);
        // An update without numbers has no weight.
        assert_eq!(weights(1.0, &[&[f32::NAN, 1.0], &[0.0, 1.0], &[-1.0, 0.0]])[0], 0.0);
    }

    #[test]
    fn settings_outside_of_their_ranges_are_refused() {
        let fields = |norm_max, confidence, cohort_max| {
            let mut faults = Vec::new();
            FoolsGold { norm_max, confidence }.validate(3, cohort_max, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(1e-9, 0.1, 4096), [""; 0]);
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(fields(wrong, 1.0, 9), ["aggregator.norm_max"]);
            assert_eq!(fields(1.0, wrong, 9), ["aggregator.confidence"]);
        }
        assert_eq!(fields(1.0, 1.0, 4097), ["scheduling.report_goal"]);
    }
}
