//! The contrast of the trained model with the version and the client's last local model.

use super::Trainer;
use crate::fit::{FitError, check_weights};

impl Trainer {
    /// Contrasts the model with these weights too, flat in schema order: those at the end of the client's training before.
    /// Without them, a plan with a contrast trains as if it had none. Call it before the first step, and after
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
