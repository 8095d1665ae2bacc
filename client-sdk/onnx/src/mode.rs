//! What a graph is made for.

/// What the operators that differ between training and use do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Batch statistics, and dropout.
    Training,
    /// Running statistics, and no dropout.
    Inference,
    /// What the model's attributes say, for conformance tests.
    AsWritten,
}
