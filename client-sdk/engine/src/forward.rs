//! The forward pass of batches of any size: dropout is off, batch normalisation uses its running statistics.

use crate::cpu::Program;
use crate::evaluate::EvaluateError;
use crate::model::Model;
use crate::onnx::Mode;

/// Examples that are run at once. It bounds memory and does not change the result of a row.
pub(crate) const BATCH_SIZE: usize = 256;

/// A model's forward pass. One program is kept: of the two sizes of a data set's batches, the smaller comes last.
pub(crate) struct Forward<'a> {
    model: &'a Model,
    weights: &'a [f32],
    program: Option<(usize, Program<f32>)>,
}

impl<'a> Forward<'a> {
    /// The forward pass with these weights, of which there are as many as the model has parameters.
    pub(crate) fn new(model: &'a Model, weights: &'a [f32]) -> Self {
        Self { model, weights, program: None }
    }

    /// The outputs for features `[rows, …]`, both row-major.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if the model does not allow so many rows at once, or memory runs out.
    pub(crate) fn run(&mut self, features: &[f32], rows: usize) -> Result<&[f32], EvaluateError> {
        let mut program = match self.program.take().filter(|(size, _)| *size == rows) {
            Some((_, program)) => program,
            None => {
                let lowered = self.model.lower(rows, Mode::Inference)?;
                Program::compile(&lowered.graph, &[lowered.output], &self.model.parameter_ranges())?
            }
        };
        program.run(self.weights, &[features], 0);
        let (_, program) = self.program.insert((rows, program));
        Ok(program.output(0))
    }
}
