use folkmoot_protocol::Fault;
use serde::{Deserialize, Serialize};

/// The rule for the clipping norm. A longer update is scaled down to this L2 norm, taken over all tensors together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Clipping {
    /// One fixed norm for all rounds.
    Fixed {
        /// The norm, above 0, at most `grid.value_max`.
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [1.0])))]
        norm: f64,
    },
    /// A norm that follows a quantile of the updates' norms. The coordinator counts the updates below the norm,
    /// adds noise to the count, and charges it with the version (Andrew et al. 2021, "Differentially private
    /// learning with adaptive clipping").
    Adaptive {
        /// The norm of the first round, above 0, at most `grid.value_max`.
        #[serde(default = "default_initial_norm")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0)))]
        initial_norm: f64,
        /// The target share of updates below the norm: above 0, below 1.
        #[serde(default = "default_quantile")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
        quantile: f64,
        /// The speed at which the norm adapts: above 0, at most 1. Each round multiplies the norm by e^(−rate · (share
        /// − quantile)), where share is the noised share of updates below the norm.
        #[serde(default = "default_rate")]
        #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1)))]
        rate: f64,
    },
}

/// The initial norm is low, because a growing norm does little harm (Andrew et al. 2021, section 3).
fn default_initial_norm() -> f64 {
    0.1
}

fn default_quantile() -> f64 {
    0.5
}

fn default_rate() -> f64 {
    0.2
}

impl Default for Clipping {
    /// The constants of Andrew et al. 2021.
    fn default() -> Self {
        let initial_norm = default_initial_norm();
        Self::Adaptive { initial_norm, quantile: default_quantile(), rate: default_rate() }
    }
}

impl Clipping {
    /// Returns the norm of the first round.
    pub fn first_norm(&self) -> f64 {
        match *self {
            Self::Fixed { norm } => norm,
            Self::Adaptive { initial_norm, .. } => initial_norm,
        }
    }

    pub(super) fn validate(&self, value_max: f64, faults: &mut Vec<Fault>) {
        let mut check = |is_right: bool, field: &str, value: f64, remedy: String| {
            if !is_right {
                let field = format!("privacy.clipping.{field}");
                faults.push(Fault::new(&field, format!("it is {value}"), remedy));
            }
        };
        let norm = self.first_norm();
        let field = if matches!(self, Self::Fixed { .. }) { "norm" } else { "initial_norm" };
        let remedy = format!("it must be above 0 and at most grid.value_max, which is {value_max}");
        check(norm > 0.0 && norm <= value_max, field, norm, remedy);
        if let Self::Adaptive { quantile, rate, .. } = *self {
            let is_right = quantile > 0.0 && quantile < 1.0;
            check(is_right, "quantile", quantile, "it must be above 0 and below 1".into());
            check(rate > 0.0 && rate <= 1.0, "rate", rate, "it must be above 0 and at most 1".into());
        }
    }
}
