//! Predictions by the engine's own executor. `folkmoot-inference` does the same with tract.

use super::EvaluateError;
use super::forward::{BATCH_SIZE, Forward};
use crate::fit::{FitError, check_lookups, check_weights, for_width};
use crate::model::Model;

impl Model {
    /// Computes the outputs `[rows, …]` for features `[rows, …]`, both row-major. `weights` are flat in schema order.
    ///
    /// Dropout is off and batch normalisation uses its running statistics.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if the number of weights or features is wrong, or a feature stands for no
    /// row of a table.
    pub fn predict(&self, weights: &[f32], features: &[f32], rows: usize) -> Result<Vec<f32>, EvaluateError> {
        check_weights(self, weights)?;
        let found = features.len() / rows.max(1);
        let model = for_width(self, found)?;
        let width: usize = model.input_shape().iter().product();
        if features.len() != width.saturating_mul(rows) {
            let (expected, found) = (model.input_shape().to_vec(), vec![found]);
            return Err(FitError::FeatureShape { expected, found }.into());
        }
        check_lookups(&model, features)?;
        let mut outputs = Vec::with_capacity(rows * model.output_shape().iter().product::<usize>());
        let mut forward = Forward::new(&model);
        for features in features.chunks(width * BATCH_SIZE) {
            outputs.extend_from_slice(forward.run(weights, features, features.len() / width)?);
        }
        Ok(outputs)
    }
}
