use crate::RosterFault;

/// A message of the coordinator that a client refuses. The client then gives up the assignment: it sends no further message
/// and erases its secret, so the coordinator learns nothing about the update.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The roster is invalid.
    #[error(transparent)]
    Roster(#[from] RosterFault),
    /// The roster does not list the keys that this client has sent.
    #[error("the roster does not list the keys of this client")]
    NotListed,
    /// The sum would have fewer updates than the plan or the app demands.
    #[error("the sum would combine {found} updates; the plan and the app demand at least {least}")]
    CohortTooSmall {
        /// The number of updates.
        found: u64,
        /// The smallest number.
        least: u64,
    },
    /// Shares came from a member that is no neighbour, or are not in ascending order of their senders.
    #[error("the shares name member {from}, which is no neighbour of this client or is listed twice")]
    UnexpectedShare {
        /// The index of the sender.
        from: u32,
    },
    /// Too few neighbours have sent valid shares.
    #[error("{found} neighbours have sent valid shares; recovery needs {least}")]
    TooFewShares {
        /// The number of valid shares.
        found: u32,
        /// The threshold.
        least: u32,
    },
    /// The survivors are not in ascending order, or name a member that does not exist or has sent no shares.
    #[error("the survivors name member {member}, which has not taken part or is listed twice")]
    UnexpectedSurvivor {
        /// The index of the member.
        member: u32,
    },
    /// The survivors do not include this client, although its update was accepted.
    #[error("the survivors do not include this client, although its update was accepted")]
    OwnUpdateMissing,
    /// Too few neighbours have survived.
    #[error("{found} neighbours have survived; recovery needs {least}")]
    TooFewNeighbours {
        /// The number of surviving neighbours.
        found: u32,
        /// The threshold.
        least: u32,
    },
    /// The client was asked about other survivors before. A second answer could reveal a single update.
    #[error("this client has answered for other survivors before; it answers once")]
    AnsweredBefore,
    /// Too few neighbours have signed the same survivors.
    #[error("{found} neighbours have signed these survivors; the plan demands {least}")]
    NotAgreed {
        /// The number of valid signatures.
        found: u32,
        /// The threshold.
        least: u32,
    },
}

impl Refusal {
    /// Returns a stable name, for logs and reports.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Roster(RosterFault::Size { .. }) | Refusal::CohortTooSmall { .. } => "cohort_too_small",
            Refusal::Roster(RosterFault::Order) => "roster_order",
            Refusal::Roster(RosterFault::Key { .. }) => "weak_or_repeated_key",
            Refusal::Roster(RosterFault::Identity { .. }) => "identity_invalid",
            Refusal::Roster(RosterFault::Parameters(_)) => "terms_impossible",
            Refusal::NotListed => "own_keys_missing",
            Refusal::UnexpectedShare { .. } => "share_unexpected",
            Refusal::TooFewShares { .. } => "too_few_shares",
            Refusal::UnexpectedSurvivor { .. } => "survivor_unexpected",
            Refusal::OwnUpdateMissing => "own_update_missing",
            Refusal::TooFewNeighbours { .. } => "too_few_neighbours",
            Refusal::AnsweredBefore => "answered_before",
            Refusal::NotAgreed { .. } => "survivors_not_agreed",
        }
    }
}
