//! A round for tests.

use folkmoot_protocol::{RoundId, TaskId, Timestamp};

use super::{Phase, Purpose, Round};

/// Returns a training round that selects clients since the time 0.
pub fn round() -> Round {
    Round {
        id: RoundId::from_random_bytes([1; 16]),
        task_id: TaskId::from_random_bytes([2; 16]),
        number: 1,
        purpose: Purpose::Training,
        base_version: 0,
        phase: Phase::Selecting { since: Timestamp(0) },
    }
}
