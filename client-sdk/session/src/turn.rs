use folkmoot_protocol::{AssignmentId, Timestamp};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{Effect, Failure, Offer, RequestId, Resume, State, back_off::back_off_until};

/// The maximum number of remembered assignments whose update is fixed. The oldest are forgotten first.
const SPENT_MAX: usize = 32;

/// Values that a session keeps in every state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub offer: Offer,
    pub next_request: u64,
    /// The number of failed assignments in a row.
    pub setbacks: u32,
    /// Assignments for which an update was prepared. None of them may get a second update.
    pub spent: Vec<AssignmentId>,
}

impl Memory {
    pub fn spend(&mut self, assignment_id: AssignmentId) {
        self.spent.push(assignment_id);
        let excess = self.spent.len().saturating_sub(SPENT_MAX);
        self.spent.drain(..excess);
    }
}

/// The current step: its inputs, and the effects collected so far.
pub(crate) struct Turn<'a> {
    pub now: Timestamp,
    pub rng: &'a mut dyn Rng,
    pub memory: &'a mut Memory,
    pub effects: Vec<Effect>,
}

impl Turn<'_> {
    /// Returns the id of a new request.
    pub fn next_request(&mut self) -> RequestId {
        let id = RequestId(self.memory.next_request);
        self.memory.next_request = self.memory.next_request.saturating_add(1);
        id
    }

    /// Schedules a retry of the request, with jitter.
    pub fn back_off(&mut self, failure: &Failure, failures: u32, resume: Resume) -> State {
        let failures = failures.saturating_add(1);
        let until = back_off_until(self.now, failures, failure.retry_after_milliseconds, self.rng);
        State::BackingOff { until, failures, resume }
    }

    /// Schedules a check-in after a failed assignment. The more failures in a row, the later.
    pub fn set_back(&mut self, retry_after_milliseconds: Option<u64>) -> State {
        self.memory.setbacks = self.memory.setbacks.saturating_add(1);
        let check_in_at = back_off_until(self.now, self.memory.setbacks, retry_after_milliseconds, self.rng);
        State::Idle { check_in_at }
    }
}
