//! Requests of clients, by what they ask for, and those that wait.

use std::sync::Arc;

use folkmoot_protocol::AssignmentId;
use folkmoot_session::{Answer, Failure, RequestId};
use tokio::sync::Notify;

/// What was asked for: the failure must be of the same kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    CheckIn,
    Ask,
    Fetch,
    Upload,
    Report,
    Abort,
}

impl Kind {
    /// Makes the answer of this kind that says why there is none.
    pub fn failed(self, failure: Failure) -> Answer {
        match self {
            Kind::CheckIn => Answer::CheckIn(Err(failure)),
            Kind::Ask => Answer::Ask(Err(failure)),
            Kind::Fetch => Answer::Fetch(Err(failure)),
            Kind::Upload => Answer::Upload(Err(failure)),
            Kind::Report => Answer::Report(Err(failure)),
            Kind::Abort => Answer::Abort(Err(failure)),
        }
    }
}

/// What a held request waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum PollOf {
    /// An assignment.
    CheckIn,
    /// That its client is asked for what it has.
    Ask(AssignmentId),
}

impl PollOf {
    /// Returns the kind of the request.
    pub fn kind(self) -> Kind {
        match self {
            PollOf::CheckIn => Kind::CheckIn,
            PollOf::Ask(_) => Kind::Ask,
        }
    }
}

/// A request that waits.
pub(super) struct HeldPoll {
    pub of: PollOf,
    pub client: usize,
    pub request_id: RequestId,
    /// How long it may wait, in milliseconds.
    pub wait: u64,
    pub waiter: Arc<Notify>,
}
