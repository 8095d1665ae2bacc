use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

use super::validate_examples;
use crate::{Combination, Measured, aggregator::Aggregator};

/// The maximum number of gradient steps. Each one reads all updates of the round twice.
const STEPS_MAX: u32 = 1_000;
/// The logit of an update without a weight: its share is 0 in effect, and can still grow.
const LOGIT_MIN: f64 = -300.0;

/// FedLAW: a mean of the clients' models. The coordinator learns the weights of this mean, and how far to shrink it, on
/// its own examples.
///
/// Li, Lin, Shang and Wu 2023, "Revisiting weighted aggregation in federated learning with neural networks". The version is
/// γ·Σ λᵢ·wᵢ, where wᵢ is the model of client i, λ lies on the simplex, and γ > 0 shrinks or stretches the weights (global weight
/// shrinking). γ and λ minimise the loss on the coordinator's examples. As in the paper, λ is a softmax and γ an exponential of free
/// numbers. λ begins with the updates' shares of the weights, and γ with 1.
///
/// The gradient for γ and λ follows from the gradient of the model at the mixture, by its inner products with the newest weights and the
/// updates. Each step takes this gradient over all of the examples. Running statistics of batch normalisation are mixed but not shrunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FedLaw {
    /// The number of your own examples, uploaded with the task, on which the coordinator learns. A hash picks them. A central
    /// evaluation measures on the others.
    #[serde(default = "default_examples")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100_000)))]
    pub examples: u64,
    /// The number of gradient steps at each commit.
    #[serde(default = "default_steps")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000)))]
    pub steps: u32,
    /// The learning rate of the gradient steps, above 0.
    #[serde(default = "default_learning_rate")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
    pub learning_rate: f64,
}

fn default_examples() -> u64 {
    200
}

fn default_steps() -> u32 {
    20
}

fn default_learning_rate() -> f64 {
    0.1
}

impl Default for FedLaw {
    fn default() -> Self {
        Self { examples: default_examples(), steps: default_steps(), learning_rate: default_learning_rate() }
    }
}

/// The mixture γ·Σ λᵢ·wᵢ while it is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// The free numbers whose softmax is λ.
    logits: Vec<f64>,
    /// The logarithm of γ.
    log_scale: f64,
}

impl Mixture {
    /// Begins with the updates' shares of the weights. If all weights are 0, all updates count alike.
    pub fn of_weights(weights: &[u64]) -> Self {
        let is_weighted = weights.iter().any(|weight| *weight > 0);
        let weight = |weight: &u64| if is_weighted { *weight as f64 } else { 1.0 };
        let logits = weights.iter().map(|one| libm::log(weight(one)).max(LOGIT_MIN)).collect();
        Self { logits, log_scale: 0.0 }
    }

    /// Returns γ.
    pub fn scale(&self) -> f64 {
        libm::exp(self.log_scale)
    }

    /// Returns λ.
    pub fn shares(&self) -> Vec<f64> {
        let largest = self.logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = self.logits.iter().map(|logit| libm::exp(logit - largest)).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(|power| power / sum).collect()
    }

    /// Makes a gradient step. Let g be the loss's gradient at the mixture. `base` is the inner product of g with the
    /// newest weights, and `updates` has the inner product of g with each update. `base` plus one of them is the inner
    /// product of g with a client's model.
    ///
    /// With w(γ, λ) = γ·(b + Σ λᵢ·Δᵢ): ∂L/∂ln γ = γ·(∇L·b + Σ λᵢ·∇L·Δᵢ), and for the logit xⱼ,
    /// ∂L/∂xⱼ = γ·λⱼ·(∇L·Δⱼ − Σ λᵢ·∇L·Δᵢ).
    pub fn step(&mut self, learning_rate: f64, base: f64, updates: &[f64]) {
        let (scale, shares) = (self.scale(), self.shares());
        let mean: f64 = shares.iter().zip(updates).map(|(share, product)| share * product).sum();
        self.log_scale -= learning_rate * scale * (base + mean);
        for ((logit, share), product) in self.logits.iter_mut().zip(&shares).zip(updates) {
            *logit -= learning_rate * scale * share * (product - mean);
        }
    }
}

impl Aggregator for FedLaw {
    fn combination(&self, _weights: &[u64], _attenuations: &[f64], _measured: &Measured) -> Combination {
        unreachable!("the coordinator's examples decide, so the coordinator combines the updates")
    }

    fn validate(&self, _cohort_min: u64, _cohort_max: u64, faults: &mut Vec<Fault>) {
        validate_examples(self.examples, faults);
        if !(1..=STEPS_MAX).contains(&self.steps) {
            let remedy =
                format!("it must be 1 to {STEPS_MAX}, because each step reads all updates twice; try 20");
            faults.push(Fault::new("aggregator.steps", format!("it is {}", self.steps), remedy));
        }
        if !self.learning_rate.is_finite() || self.learning_rate <= 0.0 {
            let message = format!("it is {}", self.learning_rate);
            faults.push(Fault::new("aggregator.learning_rate", message, "it must be above 0; try 0.1"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loss ½‖w − t‖² has the gradient w − t, and its slopes are those of finite differences.
    #[test]
    fn a_step_follows_the_slope_of_the_loss() {
        let (base, target) = ([0.5, -1.0, 2.0], [0.2, 0.3, -0.4]);
        let updates = [[1.0, 0.5, -0.25], [-0.5, 0.25, 1.0]];
        let model = |mixture: &Mixture| -> Vec<f64> {
            let shares = mixture.shares();
            let at = |index: usize| {
                let mixed = shares.iter().zip(&updates).map(|(share, update)| share * update[index]);
                mixture.scale() * (base[index] + mixed.sum::<f64>())
            };
            (0..3).map(at).collect()
        };
        let loss = |mixture: &Mixture| -> f64 {
            model(mixture).iter().zip(target).map(|(one, other)| (one - other).powi(2) / 2.0).sum()
        };
        let begin = Mixture { logits: vec![0.3, -0.2], log_scale: 0.1 };
        let gradient: Vec<f64> = model(&begin).iter().zip(target).map(|(one, other)| one - other).collect();
        let dot = |other: &[f64; 3]| gradient.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
        let mut after = begin.clone();
        after.step(1.0, dot(&base), &[dot(&updates[0]), dot(&updates[1])]);
        let slope = |change: &dyn Fn(&mut Mixture, f64)| {
            let at = |by: f64| {
                let mut moved = begin.clone();
                change(&mut moved, by);
                loss(&moved)
            };
            (at(1e-6) - at(-1e-6)) / 2e-6
        };
        let expected = [
            slope(&|mixture, by| mixture.log_scale += by),
            slope(&|mixture, by| mixture.logits[0] += by),
            slope(&|mixture, by| mixture.logits[1] += by),
        ];
        let found = [
            begin.log_scale - after.log_scale,
            begin.logits[0] - after.logits[0],
            begin.logits[1] - after.logits[1],
        ];
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-7), "{found:?}");
    }

    #[test]
    fn a_mixture_begins_with_the_weighted_mean() {
        let mixture = Mixture::of_weights(&[10, 30, 0]);
        assert_eq!(mixture.scale(), 1.0);
        let shares = mixture.shares();
        assert!((shares[0] - 0.25).abs() < 1e-15 && (shares[1] - 0.75).abs() < 1e-15, "{shares:?}");
        assert!(shares[2] < 1e-100);
        assert_eq!(Mixture::of_weights(&[0, 0]).shares(), [0.5, 0.5]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let fields = |rule: FedLaw| {
            let mut faults = Vec::new();
            rule.validate(1, 9, &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(FedLaw::default()), [""; 0]);
        let none = FedLaw { examples: 0, steps: 0, learning_rate: 0.0 };
        let most = FedLaw { examples: 100_001, steps: 1_001, learning_rate: f64::INFINITY };
        for rule in [none, most] {
            let expected = ["aggregator.examples", "aggregator.steps", "aggregator.learning_rate"];
            assert_eq!(fields(rule), expected);
        }
    }
}
