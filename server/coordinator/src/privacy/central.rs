use serde::{Deserialize, Serialize};

use super::{Amplification, Clipping, SumNoise};

/// Central differential privacy. Clients clip their updates, and the coordinator checks each norm. It sums the
/// updates as integers and adds discrete Gaussian noise before it uses the sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CentralPrivacy {
    /// The privacy budget of every client in this task: above 0, at most 1000. The task ends before it would
    /// exceed it.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "examples" = [8.0])))]
    pub epsilon: f64,
    /// The probability with which epsilon may fail to hold: well below 1 / clients of the population.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1, "examples" = [1e-6])))]
    pub delta: f64,
    /// The number of the task's versions that may contain a client's updates: at least 1. Selection enforces it.
    /// The default is stop.rounds: a client may be in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1), extend("examples" = [10])))]
    pub participations_max: Option<u64>,
    /// The rule for the clipping norm.
    #[serde(default)]
    pub clipping: Clipping,
    /// The correlation of the noise between versions.
    #[serde(default, skip_serializing_if = "SumNoise::is_default")]
    pub noise: SumNoise,
    /// The standard deviation of the noise divided by the clipping norm: 0.01 to 1e6. With correlated noise it is
    /// divided by the sensitivity of all versions together. The default is the smallest value that keeps
    /// stop.rounds versions within epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 1e6, "examples" = [1.0])))]
    pub noise_multiplier: Option<f64>,
    /// The privacy amplification that is claimed for the draw of clients.
    #[serde(default)]
    pub amplification: Amplification,
}
