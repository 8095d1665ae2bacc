//! Outputs for features, on the engine's own executor. `folkmoot-inference` does the same through tract.

use super::EvaluateError;
use super::forward::{BATCH_SIZE, Forward};
use crate::fit::{FitError, check_weights};
use crate::model::Model;

impl Model {
    /// The outputs `[rows, …]` for features `[rows, …]`, both row-major, with these weights, flat in schema order.
    ///
    /// Dropout is off and batch normalisation uses its running statistics.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if weights or features are too few or too many.
    pub fn predict(&self, weights: &[f32], features: &[f32], rows: usize) -> Result<Vec<f32>, EvaluateError> {
        check_weights(self, weights)?;
        let width: usize = self.input_shape().iter().product();
        if features.len() != width.saturating_mul(rows) {
            let found = vec![features.len() / rows.max(1)];
            return Err(FitError::FeatureShape { expected: self.input_shape().to_vec(), found }.into());
        }
        let mut outputs = Vec::with_capacity(rows * self.output_shape().iter().product::<usize>());
        let mut forward = Forward::new(self);
        for features in features.chunks(width * BATCH_SIZE) {
            outputs.extend_from_slice(forward.run(weights, features, features.len() / width)?);
        }
        Ok(outputs)
    }
}
