//! What a trainer asks of a device, where the engine is built without the feature `gpu`.

use super::Trainer;
use crate::metrics::Metrics;
use crate::train::TrainError;

impl Trainer {
    /// Sums and loss of the host's weights: without a device those of the last step.
    pub(super) fn settled(&self) -> (Metrics, f64) {
        (self.metrics, self.loss)
    }

    /// Why a plan with mixed precision does not run here.
    pub(super) fn no_half_precision(&self) -> TrainError {
        TrainError::NoHalfPrecision
    }

    /// Whether steps run on the CPU, and hold memory there.
    pub(super) fn is_on_cpu(&self) -> bool {
        true
    }

    /// Without a device there is nothing to bring back.
    pub(super) fn settle(&mut self) {}

    /// Without a device there is nothing to bring back.
    pub(super) fn bring_back(&mut self) {}

    /// Without a device there is nothing to forget.
    pub(super) fn forget_gpu(&mut self) {}
}
