//! The trainer's GPU functions for builds without the feature `gpu`.

use super::Trainer;
use crate::train::TrainError;
use folkmoot_loss::metrics::Metrics;

impl Trainer {
    /// Returns the metrics and the loss of the last step. They always belong to the host's weights.
    pub(super) fn settled(&self) -> (Metrics, f64) {
        (self.metrics, self.loss)
    }

    /// Returns the error for a plan with mixed precision.
    pub(super) fn no_half_precision(&self) -> TrainError {
        TrainError::NoHalfPrecision
    }

    /// Returns whether steps run on the CPU, and use its memory.
    pub(super) fn is_on_cpu(&self) -> bool {
        true
    }

    /// Does nothing: there is no GPU to download from.
    pub(super) fn settle(&mut self) {}

    /// Does nothing: there is no GPU to download from.
    pub(super) fn bring_back(&mut self) {}

    /// Does nothing: there is no GPU state to drop.
    pub(super) fn forget_gpu(&mut self) {}
}
