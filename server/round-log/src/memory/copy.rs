use folkmoot_protocol::{AssignmentId, RoundId};

use super::Memory;

/// The bytes of a segment to come.
#[derive(Debug)]
pub(crate) struct MemoryCopy {
    memory: Memory,
    round: RoundId,
    assignment: AssignmentId,
    bytes: Vec<u8>,
}

impl MemoryCopy {
    pub(super) fn new(memory: Memory, round: RoundId, assignment: AssignmentId) -> Self {
        Self { memory, round, assignment, bytes: Vec::new() }
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn finish(self) {
        self.memory.replace(self.round, self.assignment, self.bytes);
    }
}
