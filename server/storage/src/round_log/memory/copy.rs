use folkmoot_protocol::{AssignmentId, RoundId};

use super::Memory;

/// The bytes of a segment to come.
#[derive(Debug)]
pub(in crate::round_log) struct MemoryCopy {
    memory: Memory,
    round: RoundId,
    assignment: AssignmentId,
    bytes: Vec<u8>,
}

impl MemoryCopy {
    pub(super) fn new(memory: Memory, round: RoundId, assignment: AssignmentId) -> Self {
        Self { memory, round, assignment, bytes: Vec::new() }
    }

    pub(in crate::round_log) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(in crate::round_log) fn finish(self) {
        self.memory.replace(self.round, self.assignment, self.bytes);
    }
}
