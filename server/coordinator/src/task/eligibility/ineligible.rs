use serde::{Deserialize, Serialize};

/// Why a client may not take part now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Ineligible {
    /// It holds fewer than the task asks for.
    #[error("it holds too few examples")]
    TooFewExamples,
    /// It did not state an attribute that the task asks for, or another value.
    #[error("it lacks an attribute or states another value")]
    Attribute,
    /// Its SDK is too old, too new, or states a version that cannot be read.
    #[error("the version of its SDK is not admitted")]
    SdkVersion,
    /// It took part as often as it may for the time being.
    #[error("it took part as often as it may for now")]
    ParticipationLimit,
    /// Its updates are in as many versions as the task's privacy allows.
    #[error("its updates are in as many versions as may be")]
    PrivacyLimit,
    /// Its last assignments brought no update.
    #[error("it is left out for a while after failures")]
    CoolDown,
}
