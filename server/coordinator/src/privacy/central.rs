use serde::{Deserialize, Serialize};

use super::{Amplification, Clipping, SumNoise};

/// Central differential privacy: clients clip, the coordinator checks the norm of every update, adds up integers, and adds
/// discrete Gaussian noise before anything is made of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentralPrivacy {
    /// What the task may spend of every client: it ends before it would spend more. Above 0, at most 1000.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [8.0])))]
    pub epsilon: f64,
    /// The probability mass for which epsilon need not hold: well below 1 / clients of the population.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [1e-6])))]
    pub delta: f64,
    /// In how many versions of the task a client's updates may be, at least 1; selection keeps to it. By default
    /// stop.rounds: a client may be in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// How updates are clipped.
    #[serde(default)]
    pub clipping: Clipping,
    /// How the noise of one version goes with that of the others.
    #[serde(default, skip_serializing_if = "SumNoise::is_default")]
    pub noise: SumNoise,
    /// The noise's standard deviation over the clipping norm, 0.01 to 1e6. With correlated noise it is over the sensitivity
    /// of all versions together. By default the smallest with which
    /// stop.rounds versions stay within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [1.0])))]
    pub noise_multiplier: Option<f64>,
    /// What is claimed of how clients are drawn.
    #[serde(default)]
    pub amplification: Amplification,
}
