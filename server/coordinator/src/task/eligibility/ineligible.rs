use serde::{Deserialize, Serialize};

/// The reason why a client may not take part now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Ineligible {
    /// The client has fewer examples than the task requires.
    #[error("the client has too few examples")]
    TooFewExamples,
    /// The client did not report a required attribute, or reported a value that is not allowed.
    #[error("the client lacks a required attribute, or its value is not allowed")]
    Attribute,
    /// The client's SDK version is outside the allowed range or cannot be parsed.
    #[error("the client's SDK version is not allowed")]
    SdkVersion,
    /// The client reached the participation limit for the current period.
    #[error("the client reached its participation limit for now")]
    ParticipationLimit,
    /// The client reached the task's privacy limit, or another device of its user is taking part.
    #[error("the client reached the task's privacy limit")]
    PrivacyLimit,
    /// The client broke the protocol of secure aggregation.
    #[error("the client broke the protocol of secure aggregation less than a day ago")]
    Suspended,
    /// The client is cooling down after assignments without an update.
    #[error("the client is cooling down after failed assignments")]
    CoolDown,
}
