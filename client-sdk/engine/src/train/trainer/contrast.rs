//! The contrast of the trained model with the version and the client's last local model.

use super::Trainer;
use crate::fit::{FitError, check_weights};

impl Trainer {
    /// Also contrasts the model with the weights at the end of the client's previous training, flat in schema order.
    /// Without this call, a plan with a contrast trains as if it had none. Call it before the first step, and after
    /// [`Trainer::resume`].
    ///
    /// # Errors
    /// Returns a [`FitError`] unless there is one finite number for each parameter.
    pub fn contrast_with(&mut self, previous: &[f32]) -> Result<(), FitError> {
        check_weights(&self.processor.source().model, previous)?;
        self.processor.contrast_with(previous);
        Ok(())
    }
}
