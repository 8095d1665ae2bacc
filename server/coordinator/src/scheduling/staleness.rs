use serde::{Deserialize, Serialize};

use super::check::Check;

/// What is made of updates that are based on an old version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Staleness {
    /// What they are worth.
    pub weight: StalenessWeight,
    /// How many versions old they may be; absent is without bound.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [10])))]
    pub maximum: Option<u64>,
    /// What happens at that bound.
    pub at_bound: AtBound,
    /// How they are brought up to date.
    pub correction: Correction,
}

/// The factor of an update that is `s` versions old, from 0 to 1 (Xie et al. 2019, "Asynchronous federated
/// optimization", section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum StalenessWeight {
    /// 1.
    Constant,
    /// (1 + s)^(−exponent); FedBuff takes ½ (Nguyen et al. 2022, section 3).
    Polynomial {
        /// 0 or more.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.5])))]
        exponent: f64,
    },
    /// 1 up to `delay` versions, then 1 / (slope·(s − delay) + 1).
    Hinge {
        /// 0 or more.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [1.0])))]
        slope: f64,
        /// In versions.
        #[cfg_attr(feature = "schema", schemars(extend("examples" = [2])))]
        delay: u64,
    },
}

/// What happens when a client comes to a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AtBound {
    /// The fast wait for the slow: nothing that is under way is lost.
    #[default]
    Delay,
    /// The slow are left behind: what they have under way is dropped.
    Reject,
}

/// How an update Δ that started from version τ is brought to the newest version t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Correction {
    /// Δ as it is (Downpour, Dean et al. 2012; FedBuff).
    #[default]
    None,
    /// Δ + (x_τ − x_t): not deltas but models are combined, so with the server's learning rate α
    /// x ← (1 − α)·x + α·(x_τ + Δ) (FedAsync, Xie et al. 2019, algorithm 1).
    ModelMixing,
    /// Δ − lambda·Δ²·(x_t − x_τ), element by element: the gradient is moved along a diagonal estimate of the
    /// Hessian (Zheng et al. 2017, "Asynchronous SGD with delay compensation", equation 10; with one local step of
    /// rate η, Δ = −η·g, their λ is lambda·η).
    DelayCompensation {
        /// 0 or more.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.1])))]
        lambda: f64,
    },
}

impl Default for Staleness {
    fn default() -> Self {
        Self {
            weight: StalenessWeight::Polynomial { exponent: 0.5 },
            maximum: None,
            at_bound: AtBound::Delay,
            correction: Correction::None,
        }
    }
}

impl Staleness {
    /// Returns an update that counts as much as any other, however old.
    pub fn ignored() -> Self {
        Self { weight: StalenessWeight::Constant, ..Self::default() }
    }

    /// Returns the factor of an update that is `staleness` versions old; `None` if it may not count.
    pub fn factor(&self, staleness: u64) -> Option<f64> {
        let may_count = self.maximum.is_none_or(|maximum| staleness <= maximum);
        may_count.then(|| self.weight.of(staleness))
    }

    pub(super) fn check(&self, check: &mut Check<'_>) {
        match self.weight {
            StalenessWeight::Constant => {}
            StalenessWeight::Polynomial { exponent } => {
                check.not_negative("staleness.weight.exponent", exponent);
            }
            StalenessWeight::Hinge { slope, .. } => check.not_negative("staleness.weight.slope", slope),
        }
        if let Correction::DelayCompensation { lambda } = self.correction {
            check.not_negative("staleness.correction.lambda", lambda);
        }
    }
}

impl StalenessWeight {
    /// Returns the factor of an update that is `staleness` versions old.
    pub fn of(&self, staleness: u64) -> f64 {
        match *self {
            StalenessWeight::Constant => 1.0,
            StalenessWeight::Polynomial { exponent } => (1.0 + staleness as f64).powf(-exponent),
            StalenessWeight::Hinge { slope, delay } => {
                1.0 / (slope * staleness.saturating_sub(delay) as f64 + 1.0)
            }
        }
    }
}

impl Correction {
    /// Corrects one element: `delta` of the update, `start` and `newest` of the two versions.
    #[inline]
    pub fn of(self, delta: f64, start: f64, newest: f64) -> f64 {
        match self {
            Correction::None => delta,
            Correction::ModelMixing => delta + (start - newest),
            Correction::DelayCompensation { lambda } => delta - lambda * delta * delta * (newest - start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_papers() {
        let of = |weight: StalenessWeight, staleness| (weight.of(staleness) * 1e6).round() / 1e6;
        assert_eq!(of(StalenessWeight::Constant, 7), 1.0);
        let polynomial = StalenessWeight::Polynomial { exponent: 0.5 };
        assert_eq!([0, 3, 8].map(|s| of(polynomial, s)), [1.0, 0.5, 0.333333]);
        let hinge = StalenessWeight::Hinge { slope: 10.0, delay: 4 };
        assert_eq!([0, 4, 5, 7].map(|s| of(hinge, s)), [1.0, 1.0, 0.090909, 0.032258]);
    }

    #[test]
    fn what_is_too_old_does_not_count() {
        let staleness = Staleness { maximum: Some(2), ..Staleness::ignored() };
        assert_eq!([0, 2, 3].map(|s| staleness.factor(s)), [Some(1.0), Some(1.0), None]);
    }

    #[test]
    fn mixing_models_is_a_step_towards_the_clients_model() {
        // x = 2, the client began at 1.5 and came to 1.0: with rate 0.25 the mixture is 0.75·2 + 0.25·1.
        let corrected = Correction::ModelMixing.of(-0.5, 1.5, 2.0);
        assert_eq!(2.0 + 0.25 * corrected, 0.75 * 2.0 + 0.25 * 1.0);
    }

    #[test]
    fn delay_compensation_follows_a_quadratic() {
        // f = ½·h·x², one step of rate η from x_τ: Δ = −η·h·x_τ. Where g² is the curvature (h = g at h·x = h² …,
        // as the outer-product estimate has it), the compensated step is that from x_t: choose x_τ = 1, h = 1.
        let (rate, start, newest) = (0.1, 1.0, 0.8);
        let lambda = 1.0 / rate;
        let corrected = Correction::DelayCompensation { lambda }.of(-rate * start, start, newest);
        assert!((corrected - -rate * newest).abs() < 1e-12, "{corrected}");
    }
}
