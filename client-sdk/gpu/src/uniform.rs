//! The values that change in each training step: a row of numbers that kernels read as a uniform.

/// The values of one step; `shader/shared/step.wgsl` declares the same.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepValues {
    pub(super) learning_rate: f32,
    /// Adam: the learning rate divided by the first moment's bias correction.
    pub(super) rate: f32,
    /// Adam: 1 over the square root of the second moment's bias correction.
    pub(super) root_factor: f32,
    /// The step's row of the log.
    pub(super) index: u32,
    /// The seed of the step's random numbers.
    pub(super) seed: u64,
    /// The index of the batch's first example in the order of the examples.
    pub(super) first: u32,
}

/// The columns of a step's row in the log: loss, correct predictions, faults, and one unused.
pub(super) const LOG_COLUMNS: usize = 4;
/// The size of a row in bytes; dynamic offsets must be multiples of it.
pub(super) const ROW_BYTES: u64 = 256;
/// The number of bytes of a row that kernels read.
pub(super) const STEP_BYTES: u64 = 32;

impl StepValues {
    /// Returns the row in the GPU's byte format.
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
