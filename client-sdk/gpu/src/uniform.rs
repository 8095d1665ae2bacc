//! What is different in each step of a training: a row of numbers that kernels read as a uniform.

/// The numbers of one step; `shader/shared/step.wgsl` declares the same.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepValues {
    pub(super) learning_rate: f32,
    /// Adam's: the learning rate over the correction of the first moment's bias.
    pub(super) rate: f32,
    /// Adam's: one over the root of the correction of the second moment's bias.
    pub(super) root_factor: f32,
    /// The row of the log.
    pub(super) index: u32,
    /// Decides the random numbers.
    pub(super) seed: u64,
    /// The first of the batch in the order of the examples.
    pub(super) first: u32,
}

/// Numbers of a step's row in the log: loss, right answers, faults, and one that is free.
pub(super) const LOG_COLUMNS: usize = 4;
/// Bytes of a row: dynamic offsets have to be multiples of this.
pub(super) const ROW_BYTES: u64 = 256;
/// Bytes of a row that are read.
pub(super) const STEP_BYTES: u64 = 32;

impl StepValues {
    /// The row as the device reads it.
    pub(super) fn row(&self) -> [u8; ROW_BYTES as usize] {
        let words = [
            self.learning_rate.to_bits(),
            self.rate.to_bits(),
            self.root_factor.to_bits(),
            self.index,
            self.seed as u32,
            (self.seed >> 32) as u32,
            self.first,
        ];
        let mut row = [0; ROW_BYTES as usize];
        for (bytes, word) in row.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        row
    }
}
