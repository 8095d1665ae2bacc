use folkmoot_coordinator::rollout::{Reports, Share};
use folkmoot_protocol::{ChannelName, OrganisationId, PopulationName, TaskId, Timestamp};

/// The maximum number of rollouts of a channel that a device is compared with, and of channels.
pub const ROLLOUTS_OFFERED_MAX: u32 = 1_000;

/// A model version that apps should use, for a share of the devices of a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutRecord {
    /// The organisation of the population.
    pub organisation_id: OrganisationId,
    /// The population whose devices get the model.
    pub population: PopulationName,
    /// The number of the rollout in its population, from 1. The database chooses it.
    pub number: u64,
    /// The channel whose devices get the model.
    pub channel: ChannelName,
    /// The task that trained the model.
    pub task_id: TaskId,
    /// The number of the model version.
    pub version: u64,
    /// The share of the channel's devices that get the model.
    pub share: Share,
    /// The share of failed devices above which the rollout is held.
    pub failures_max: Share,
    /// The reason why no device gets the model; `None` while devices get it.
    pub held: Option<String>,
    /// The numbers of devices that have reported.
    pub reports: Reports,
    /// The text that the last failed device reported.
    pub last_failure: Option<String>,
    /// When the rollout was created.
    pub created_at: Timestamp,
}

/// A change of a rollout. `None` keeps a setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RolloutChange {
    /// The share of the channel's devices that get the model.
    pub share: Option<Share>,
    /// The share of failed devices above which the rollout is held.
    pub failures_max: Option<Share>,
    /// The reason why no device gets the model any more, or `Some(None)` to give it to devices again.
    pub held: Option<Option<String>>,
}
