//! Outputs for features, on the engine's own executor. `InferenceModel` is the same through tract.

use crate::cpu::Program;
use crate::evaluate::{EVALUATION_BATCH_SIZE, EvaluateError};
use crate::fit::{FitError, check_weights};
use crate::model::Model;
use crate::onnx::Mode;

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
        let mut program: Option<(usize, Program<f32>)> = None;
        for features in features.chunks(width * EVALUATION_BATCH_SIZE) {
            let batch = features.len() / width;
            let mut current = match program.take().filter(|(size, _)| *size == batch) {
                Some((_, program)) => program,
                None => {
                    let lowered = self.lower(batch, Mode::Inference)?;
                    Program::compile(&lowered.graph, &[lowered.output], &self.parameter_ranges())?
                }
            };
            current.run(weights, &[features], 0);
            outputs.extend_from_slice(current.output(0));
            program = Some((batch, current));
        }
        Ok(outputs)
    }
}
