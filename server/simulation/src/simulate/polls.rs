//! The kinds of clients' requests, and the requests that the coordinator holds.

use std::sync::Arc;

use folkmoot_protocol::AssignmentId;
use folkmoot_session::{Answer, Failure, RequestId};
use tokio::sync::Notify;

/// The kind of a request. The answer that reports a failure must have the same kind.
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
    /// Returns the answer of this kind that reports a failure.
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

/// The event that a held request waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum PollOf {
    /// An assignment.
    CheckIn,
    /// A request for the partial update of this assignment.
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

/// A held request.
pub(super) struct HeldPoll {
    pub of: PollOf,
    pub client: usize,
    pub request_id: RequestId,
    /// The maximum number of milliseconds for which the request may be held.
    pub wait: u64,
    pub waiter: Arc<Notify>,
}
