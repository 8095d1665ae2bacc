use serde::{Deserialize, Serialize};

use super::check::Check;

/// The treatment of updates from older versions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Staleness {
    /// The weight of a stale update.
    pub weight: StalenessWeight,
    /// The largest staleness, in versions. The default is no limit.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [10])))]
    pub maximum: Option<u64>,
    /// The behaviour when an update reaches `maximum`.
    pub at_bound: AtBound,
    /// The correction of a stale update.
    pub correction: Correction,
}

/// The weight of an update that is `s` versions old, from 0 to 1 (Xie et al. 2019, "Asynchronous federated
/// optimization", section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum StalenessWeight {
    /// Always 1.
    Constant,
    /// (1 + s)^(−exponent). FedBuff uses ½ (Nguyen et al. 2022, section 3), and with 1, this is the learning rate of DynSGD (Jiang et al. 2017,
    /// "Heterogeneity-aware distributed parameter servers", section 4).
    Polynomial {
        /// The exponent, at least 0.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [0.5])))]
        exponent: f64,
    },
    /// 1 up to `delay` versions, then 1 / (slope·(s − delay) + 1).
    Hinge {
        /// The slope, at least 0.
        #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "examples" = [1.0])))]
        slope: f64,
        /// The delay, in versions.
        #[cfg_attr(feature = "schema", schemars(extend("examples" = [2])))]
        delay: u64,
    },
}

/// The behaviour at a staleness bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AtBound {
    /// Fast clients wait for slow ones. No work is lost.
    #[default]
    Delay,
    /// Slow clients are left behind, and their outstanding assignments are dropped.
    Reject,
}

/// The correction of an update Δ from its base version τ to the newest version t. The weights of these versions are x_τ
/// and x_t.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Correction {
    /// No correction: Δ (Downpour, Dean et al. 2012; FedBuff).
    #[default]
    None,
    /// Δ + (x_τ − x_t): averages models instead of deltas. With the server's learning rate α, x ← (1 − α)·x +
    /// α·(x_τ + Δ) (FedAsync, Xie et al. 2019, algorithm 1).
    ModelMixing,
    /// Δ − lambda·Δ²·(x_t − x_τ), element by element. It shifts the gradient along a diagonal estimate of the
    /// Hessian (Zheng et al. 2017, "Asynchronous SGD with delay compensation", equation 10). With one local step
    /// of rate η, Δ = −η·g, and the paper's λ is lambda·η.
    DelayCompensation {
        /// The factor of the correction, at least 0.
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
    /// Returns a setting in which every update has weight 1, regardless of its age.
    pub fn ignored() -> Self {
        Self { weight: StalenessWeight::Constant, ..Self::default() }
    }

    /// Returns the weight of an update that is `staleness` versions old, or `None` if it is too old to be combined.
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
    /// Returns the weight of an update that is `staleness` versions old.
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
    /// Corrects one element. `delta` is the element of the update; `start` and `newest` are the same element of the
    /// base version and of the newest version.
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
        // x = 2; the client started at 1.5 and ended at 1.0. With rate 0.25, the mixture is 0.75·2 + 0.25·1.
        let corrected = Correction::ModelMixing.of(-0.5, 1.5, 2.0);
        assert_eq!(2.0 + 0.25 * corrected, 0.75 * 2.0 + 0.25 * 1.0);
    }

    #[test]
    fn delay_compensation_follows_a_quadratic() {
        // f = ½·h·x², one step of rate η from x_τ: Δ = −η·h·x_τ. If g² equals the curvature, as the outer-product
        // estimate assumes, the compensated step is the step from x_t. Choose x_τ = 1, h = 1.
        let (rate, start, newest) = (0.1, 1.0, 0.8);
        let lambda = 1.0 / rate;
        let corrected = Correction::DelayCompensation { lambda }.of(-rate * start, start, newest);
        assert!((corrected - -rate * newest).abs() < 1e-12, "{corrected}");
    }
}
