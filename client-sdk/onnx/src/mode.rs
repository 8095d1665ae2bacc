//! The mode in which a graph will run.

/// The mode of operators that behave differently in training and inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Training: batch normalisation uses the batch's statistics, and dropout is on.
    Training,
    /// Inference: batch normalisation uses its running statistics, and dropout is off.
    Inference,
    /// The mode that the attributes of each node select; for conformance tests.
    AsWritten,
}
