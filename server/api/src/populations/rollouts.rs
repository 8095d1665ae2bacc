use folkmoot_protocol::{ChannelName, Count, PopulationName, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A model version that apps should use, for a share of the devices of a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RolloutView {
    /// The population whose devices get the model.
    pub population: PopulationName,
    /// The number of the rollout in its population, from 1.
    pub number: u64,
    /// The channel whose devices get the model.
    pub channel: ChannelName,
    /// The task that trained the model.
    pub task_id: TaskId,
    /// The number of the model version.
    pub version: u64,
    /// The share of the channel's devices that get the model, 0 to 1. Others get that of the rollout before.
    pub share: f64,
    /// The share of failed devices above which the coordinator holds the rollout, 0 to 1. One device never holds it.
    pub failures_max: f64,
    /// The reason why no device gets the model; null while devices get it.
    pub held: Option<String>,
    /// The number of devices that have loaded the model.
    pub loaded: u64,
    /// The number of devices that could not use it.
    pub failed: u64,
    /// The text that the last failed device reported; null if none failed.
    pub last_failure: Option<String>,
    /// When the rollout was created.
    pub created_at: Timestamp,
}

/// A new rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRolloutRequest {
    /// The channel whose devices get the model.
    #[serde(default)]
    pub channel: ChannelName,
    /// The name, the id or the beginning of the id of the task that trained the model.
    pub task: String,
    /// The number of the model version; the newest one if it is omitted.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Count::read_optional")]
    #[schema(maximum = 9007199254740992_u64)]
    pub version: Option<u64>,
    /// The share of the channel's devices that get the model, 0 to 1.
    #[serde(default = "all")]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub share: f64,
    /// The share of failed devices above which the coordinator holds the rollout, 0 to 1. It is never held because of one
    /// device.
    #[serde(default = "twentieth")]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub failures_max: f64,
}

/// A change of a rollout. Omitted fields keep their values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeRolloutRequest {
    /// The share of the channel's devices that get the model, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub share: Option<f64>,
    /// The share of failed devices above which the coordinator holds the rollout, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub failures_max: Option<f64>,
    /// True to give the model to no device any more: they return to the rollout before. False to give it to them again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
}

fn all() -> f64 {
    1.0
}

fn twentieth() -> f64 {
    0.05
}
