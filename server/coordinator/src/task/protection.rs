use folkmoot_protocol::secure::{CommitteeKey, Threat};
use serde::{Deserialize, Serialize};

/// The parties that can see a single update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The coordinator can see each update. Updates are encrypted in transit.
    #[default]
    Plain,
    /// The coordinator can see only the sum of a round's updates. Choose it if clients should not have to trust the
    /// coordinator with their updates. A round then takes three more steps, in which clients must be online.
    SecureAggregation(SecureAggregation),
    /// The coordinator can see only the sum of a round's updates, whose masks a committee removes. Choose it for clients that
    /// cannot come back after their upload, such as phones and browser tabs: each sends one message. It needs members that
    /// do not all collude with the coordinator.
    Committee(CommitteeProtection),
}

/// Secure aggregation with a committee: clients encrypt the seeds of their masks for its members, and the members sum the masks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommitteeProtection {
    /// The public keys of the members, 2 to 7. Each member shows its key when it starts.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", length(min = 2, max = 7)))]
    pub members: Vec<CommitteeKey>,
    /// The number of members that may collude with the coordinator. One member more must answer in each round; the others
    /// may be missing.
    #[serde(default = "default_colluders")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 6), extend("examples" = [1])))]
    pub colluders: u32,
    /// The behaviour of the coordinator against which updates are protected. `malicious` also protects against a
    /// coordinator that asks members for the sums of different clients: the members first agree on the clients. More members
    /// must then answer: three of four, if one may collude.
    #[serde(default)]
    pub threat: Threat,
    /// The assumed share of clients that collude with the coordinator. It matters only for privacy.kind = "distributed".
    #[serde(default = "default_corrupt_share")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "examples" = [0.1])))]
    pub corrupt_share: f64,
    /// The number of seconds after which a closed round is abandoned if too few members answer.
    #[serde(default = "default_give_up_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 604_800), extend("examples" = [3600])))]
    pub give_up_seconds: u64,
}

/// Secure aggregation: clients mask their updates, and the masks vanish only from the sum (SecAgg+, Bell et al. 2020).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SecureAggregation {
    /// The behaviour of the coordinator against which updates are protected. `malicious` also protects against a
    /// coordinator that sends different messages to different clients. It costs one more step and a higher threshold, so
    /// it tolerates fewer drop-outs.
    #[serde(default)]
    pub threat: Threat,
    /// The assumed share of clients that collude with the coordinator. The larger, the more secrets each client shares.
    #[serde(default = "default_corrupt_share")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "examples" = [0.1])))]
    pub corrupt_share: f64,
    /// The assumed share of clients that drop out after they have exchanged keys. If more do, the round is lost.
    #[serde(default = "default_dropout_share")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0, "exclusiveMaximum" = 1, "examples" = [0.2])))]
    pub dropout_share: f64,
    /// The number of seconds for which the round waits for clients in each of the steps after the training.
    #[serde(default = "default_step_deadline_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 86_400), extend("examples" = [60])))]
    pub step_deadline_seconds: u64,
}

impl Default for SecureAggregation {
    fn default() -> Self {
        Self {
            threat: Threat::default(),
            corrupt_share: default_corrupt_share(),
            dropout_share: default_dropout_share(),
            step_deadline_seconds: default_step_deadline_seconds(),
        }
    }
}

fn default_corrupt_share() -> f64 {
    0.1
}

fn default_dropout_share() -> f64 {
    0.2
}

fn default_colluders() -> u32 {
    1
}

fn default_give_up_seconds() -> u64 {
    3600
}

fn default_step_deadline_seconds() -> u64 {
    60
}

impl Protection {
    /// Returns whether the coordinator sees only sums of updates.
    pub fn is_masked(&self) -> bool {
        *self != Protection::Plain
    }

    /// Returns the settings of secure aggregation among the clients; `None` if they exchange no messages.
    pub fn exchange(&self) -> Option<&SecureAggregation> {
        match self {
            Protection::SecureAggregation(secure) => Some(secure),
            Protection::Plain | Protection::Committee(_) => None,
        }
    }

    /// Returns the settings of the committee; `None` without one.
    pub fn committee(&self) -> Option<&CommitteeProtection> {
        match self {
            Protection::Committee(committee) => Some(committee),
            Protection::Plain | Protection::SecureAggregation(_) => None,
        }
    }

    /// Returns the behaviour of the coordinator against which updates are masked; `None` if they are not.
    pub fn threat(&self) -> Option<Threat> {
        match self {
            Protection::Plain => None,
            Protection::SecureAggregation(secure) => Some(secure.threat),
            Protection::Committee(committee) => Some(committee.threat),
        }
    }
}

impl SecureAggregation {
    /// Returns the milliseconds after which a step ends.
    pub fn step_milliseconds(&self) -> u64 {
        self.step_deadline_seconds.saturating_mul(1000)
    }
}
