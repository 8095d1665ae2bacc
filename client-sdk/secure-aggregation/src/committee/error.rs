use folkmoot_protocol::{AssignmentId, secure::CommitteeFault};

/// Why a client does not mask for a committee, or a member gives no sum.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CommitteeError {
    /// The terms are invalid.
    #[error(transparent)]
    Terms(#[from] CommitteeFault),
    /// A member's key is of small order.
    #[error("the key of member {member} of the committee is weak")]
    WeakKey {
        /// The index of the member.
        member: usize,
    },
    /// The member is not in the plan's committee.
    #[error("this member is not in the committee of the plan")]
    NotMember,
    /// Too few clients.
    #[error("the sum has {found} updates, but must have at least {least}")]
    CohortTooSmall {
        /// The number of updates.
        found: u64,
        /// The smallest number.
        least: u64,
    },
    /// More clients than the ring has room for.
    #[error("the sum has {found} updates, but the plan allows {most}")]
    CohortTooLarge {
        /// The number of updates.
        found: u64,
        /// The largest number.
        most: u64,
    },
    /// The clients or the masks are not in ascending order.
    #[error("the clients or masks are not in ascending order, or one is listed twice")]
    Order,
    /// The member does not hold the mask.
    #[error("this member does not hold mask {mask}")]
    OtherMask {
        /// The index of the mask.
        mask: u32,
    },
    /// The seeds of a client cannot be read.
    #[error("the seeds of assignment {assignment_id} cannot be read by this member")]
    Unreadable {
        /// The client's assignment.
        assignment_id: AssignmentId,
    },
    /// The member has answered for other clients.
    #[error("this member has answered for other clients in this round, and answers once")]
    AnsweredBefore,
    /// Too few members have agreed to the clients.
    #[error("{found} members have signed this list of clients, but {least} must")]
    NotAgreed {
        /// The number of valid signatures.
        found: u32,
        /// The smallest number.
        least: u32,
    },
}

impl CommitteeError {
    /// Returns the code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            CommitteeError::Terms(_) => "terms",
            CommitteeError::WeakKey { .. } => "weak_key",
            CommitteeError::NotMember => "not_member",
            CommitteeError::CohortTooSmall { .. } => "cohort_too_small",
            CommitteeError::CohortTooLarge { .. } => "cohort_too_large",
            CommitteeError::Order => "order",
            CommitteeError::OtherMask { .. } => "other_mask",
            CommitteeError::Unreadable { .. } => "unreadable",
            CommitteeError::AnsweredBefore => "answered_before",
            CommitteeError::NotAgreed { .. } => "not_agreed",
        }
    }
}
