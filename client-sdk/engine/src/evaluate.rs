//! Loss and accuracy over a data set, without training.

use candle_core::DType;

use crate::batch::{FitError, check_examples, check_weights, feeds, parameter_tensors};
use crate::cpu::{ExecuteError, Executor};
use crate::examples::Examples;
use crate::metrics::{Metrics, score};
use crate::model::Model;
use crate::train::Loss;

/// Examples that are evaluated at once. It bounds memory and does not change the result of a row.
pub(crate) const EVALUATION_BATCH_SIZE: usize = 256;

/// Why an evaluation did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Examples or weights do not go with the model and the loss.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A kernel failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// Sums loss and right classes of a model with the given weights over all examples.
///
/// `weights` are flat in schema order. Without examples all sums are 0.
///
/// # Errors
/// Returns an [`EvaluateError`] if examples or weights do not fit the model and the loss.
pub fn evaluate(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
) -> Result<Metrics, EvaluateError> {
    check_weights(model, weights)?;
    check_examples(model.input_shape(), model.output_shape(), examples, loss)?;
    let parameters = parameter_tensors(model.parameters(), weights)?;
    let executor = Executor::new(model.graph().clone(), vec![model.output()], DType::F32)?;
    let mut metrics = Metrics::default();
    let indices: Vec<usize> = (0..examples.len()).collect();
    for indices in indices.chunks(EVALUATION_BATCH_SIZE) {
        let feeds = feeds(examples, indices, model.input_shape(), None)?;
        let outputs = executor.run_to_vec(&parameters, &feeds)?;
        metrics += score(&outputs, &examples.gather_labels(indices), loss);
    }
    Ok(metrics)
}
