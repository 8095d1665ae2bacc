use folkmoot_protocol::{endorsement::EndorsementError, messages::ProtectionLevel};

/// Why a client with pinned endorsement keys refuses an assignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotEndorsed {
    /// The assignment has no endorsement.
    #[error(
        "the task has no endorsement, and this app requires one; publish one with `folkmoot endorsement`"
    )]
    Missing,
    /// The endorsement has another key.
    #[error("the endorsement is signed by a key that this app does not accept")]
    UnknownKey,
    /// The endorsement was altered or cannot be read.
    #[error("the endorsement is not valid: {0}")]
    Invalid(#[from] EndorsementError),
    /// The endorsement is another task's.
    #[error("the endorsement is signed for another task")]
    OtherTask,
    /// The assignment has another model.
    #[error("the model is not the signed one")]
    OtherModel,
    /// The assignment has another plan.
    #[error("the plan is not a signed one")]
    OtherPlan,
    /// The endorsement is not for the client's coordinator.
    #[error("the endorsement is not signed for the coordinator {0}")]
    OtherCoordinator(String),
    /// The endorsement is not valid yet.
    #[error("the endorsement is not valid yet, or the device's clock is slow")]
    NotYetValid,
    /// The endorsement is no longer valid.
    #[error(
        "the endorsement has expired, or the device's clock is fast; publish a new one with `folkmoot endorsement`"
    )]
    Expired,
    /// The client has seen a newer endorsement of the task.
    #[error("the endorsement has the number {sequence}, but this client has seen number {newest}")]
    Older {
        /// The endorsement's number.
        sequence: u64,
        /// The highest number that the client has seen.
        newest: u64,
    },
    /// A version combines fewer updates than the statement promises.
    #[error("the smallest cohort is {told}, but {signed} is signed")]
    Cohort {
        /// The number in the assignment.
        told: u64,
        /// The number in the statement.
        signed: u64,
    },
    /// The protection is weaker than the statement promises.
    #[error("the protection is {told}, but {signed} is signed")]
    Protection {
        /// The level in the assignment.
        told: ProtectionLevel,
        /// The level in the statement.
        signed: ProtectionLevel,
    },
}
