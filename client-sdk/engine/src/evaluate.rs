//! Loss and other metrics over a data set, without training.

use crate::batch::Batch;
use crate::cpu::ExecuteError;
use crate::examples::Examples;
use crate::fit::{FitError, check_examples, check_weights};
use crate::forward::{BATCH_SIZE, Forward};
use crate::loss::Layout;
use crate::metrics::{Evaluation, Metrics, score};
use crate::model::Model;
use crate::onnx::ImportError;
use crate::train::Loss;

/// Why an evaluation did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Examples or weights do not go with the model and the loss.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The model does not allow a batch of this size.
    #[error(transparent)]
    Model(#[from] ImportError),
    /// The model cannot be compiled.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// Sums loss and right classes of a model with the given weights over all examples, each counted once.
///
/// `weights` are flat in schema order. Without examples all sums are 0. Dropout is off and batch normalisation uses its
/// running statistics.
///
/// # Errors
/// Returns an [`EvaluateError`] if examples or weights do not fit the model and the loss.
pub fn evaluate(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
) -> Result<Metrics, EvaluateError> {
    let mut metrics = Metrics::default();
    run(model, weights, examples, loss, |layout, outputs, labels| {
        metrics += score(loss, layout, outputs, labels);
    })?;
    Ok(metrics)
}

/// Measures everything that goes with the loss and the labels, over all examples; see [`evaluate`].
///
/// # Errors
/// Returns an [`EvaluateError`] if examples or weights do not fit the model and the loss.
pub fn evaluate_in_detail(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
) -> Result<Evaluation, EvaluateError> {
    let mut evaluation = Evaluation::default();
    run(model, weights, examples, loss, |layout, outputs, labels| {
        evaluation += &Evaluation::of_batch(loss, layout, outputs, labels);
    })?;
    Ok(evaluation)
}

/// Calls `measure` with the outputs and the labels of each batch.
fn run(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
    mut measure: impl FnMut(&Layout, &[f32], &[f32]),
) -> Result<(), EvaluateError> {
    check_weights(model, weights)?;
    let layout = check_examples(model.input_shape(), model.output_shape(), examples, loss)?;
    let indices: Vec<usize> = (0..examples.len()).collect();
    let mut batch = Batch::with_room_for(BATCH_SIZE.min(indices.len()), examples);
    let mut forward = Forward::new(model, weights);
    for indices in indices.chunks(BATCH_SIZE) {
        batch.fill(examples, indices);
        measure(&layout, forward.run(batch.features(), indices.len())?, batch.labels());
    }
    Ok(())
}
