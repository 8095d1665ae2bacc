use folkmoot_protocol::{AssignmentId, Timestamp};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{Effect, Failure, Offer, RequestId, Resume, State, back_off::back_off_until};

/// Assignments whose update was fixed and that are remembered; the oldest is forgotten first.
const SPENT_MAX: usize = 32;

/// What a session knows in every state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub offer: Offer,
    pub next_request: u64,
    /// Assignments in a row that came to nothing.
    pub setbacks: u32,
    /// Assignments for which an update was prepared: none may get a second one.
    pub spent: Vec<AssignmentId>,
}

impl Memory {
    pub fn spend(&mut self, assignment_id: AssignmentId) {
        self.spent.push(assignment_id);
        let excess = self.spent.len().saturating_sub(SPENT_MAX);
        self.spent.drain(..excess);
    }
}

/// One step under way: what it may use, and the effects that it has collected.
pub(crate) struct Turn<'a> {
    pub now: Timestamp,
    pub rng: &'a mut dyn Rng,
    pub memory: &'a mut Memory,
    pub effects: Vec<Effect>,
}

impl Turn<'_> {
    /// Draws the id of a new request.
    pub fn next_request(&mut self) -> RequestId {
        let id = RequestId(self.memory.next_request);
        self.memory.next_request = self.memory.next_request.saturating_add(1);
        id
    }

    /// Sends the same again, later and with jitter.
    pub fn back_off(&mut self, failure: &Failure, failures: u32, resume: Resume) -> State {
        let failures = failures.saturating_add(1);
        let until = back_off_until(self.now, failures, failure.retry_after_milliseconds, self.rng);
        State::BackingOff { until, failures, resume }
    }

    /// Checks in again after an assignment that came to nothing: later, the more of them there were.
    pub fn set_back(&mut self, retry_after_milliseconds: Option<u64>) -> State {
        self.memory.setbacks = self.memory.setbacks.saturating_add(1);
        let check_in_at = back_off_until(self.now, self.memory.setbacks, retry_after_milliseconds, self.rng);
        State::Idle { check_in_at }
    }
}
