//! Computes loss and other metrics over a data set, without training.

mod error;
mod forward;
mod predict;

use std::ops::Range;

pub use error::EvaluateError;
use folkmoot_protocol::Loss;
use forward::BATCH_SIZE;
pub(crate) use forward::Forward;

use crate::examples::{Examples, gather};
use crate::fit::{FitError, check_examples, check_weights, fitted};
use crate::model::Model;
use folkmoot_loss::loss::{Layout, example_loss};
use folkmoot_loss::metrics::{Evaluation, Metrics, score};

/// Measures a model on examples, repeatedly, with different weights or examples. Compiled programs are reused between
/// calls.
///
/// The results are bit-identical to those of [`evaluate`] and [`evaluate_in_detail`].
pub struct Evaluator {
    loss: Loss,
    forward: Forward,
    labels: Vec<f32>,
}

impl Evaluator {
    /// Creates an evaluator for a model and a loss. Nothing is compiled yet.
    pub fn new(model: &Model, loss: Loss) -> Self {
        Self { loss, forward: Forward::new(model), labels: Vec::new() }
    }

    /// Limits the size of the weights and the largest compiled batch together, in bytes. Evaluations that need more
    /// fail before memory is allocated.
    pub fn limit_memory(&mut self, bytes_max: u64) {
        self.forward.limit_memory(bytes_max);
    }

    /// Sums the loss and the correct predictions over all examples; see [`evaluate`].
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if examples or weights do not match the model and the loss.
    pub fn evaluate(&mut self, weights: &[f32], examples: &Examples) -> Result<Metrics, EvaluateError> {
        let (mut metrics, loss) = (Metrics::default(), self.loss);
        self.run(weights, examples, |layout, outputs, labels| {
            metrics += score(loss, layout, outputs, labels);
        })?;
        Ok(metrics)
    }

    /// Computes all metrics that the loss and the labels allow; see [`evaluate_in_detail`].
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if examples or weights do not match the model and the loss.
    pub fn evaluate_in_detail(
        &mut self,
        weights: &[f32],
        examples: &Examples,
    ) -> Result<Evaluation, EvaluateError> {
        let (mut evaluation, loss) = (Evaluation::default(), self.loss);
        self.run(weights, examples, |layout, outputs, labels| {
            evaluation += &Evaluation::of_batch(loss, layout, outputs, labels);
        })?;
        Ok(evaluation)
    }

    /// Returns the loss of each of these examples, all of which must exist, in their order. The examples were found to fit the model, with
    /// this layout.
    ///
    /// # Errors
    /// Returns an [`EvaluateError`] if the weights do not match the model, or the memory does not suffice.
    pub(crate) fn example_losses(
        &mut self,
        weights: &[f32],
        layout: &Layout,
        examples: &Examples,
        rows: &[usize],
    ) -> Result<Vec<f64>, EvaluateError> {
        check_weights(self.forward.model(), weights)?;
        let (mut losses, mut features) = (Vec::with_capacity(rows.len()), Vec::new());
        for batch in rows.chunks(BATCH_SIZE) {
            features.clear();
            gather(examples.features(), examples.feature_count(), batch, &mut features);
            let outputs = self.forward.run(weights, &features, batch.len())?;
            for (row, outputs) in batch.iter().zip(outputs.chunks_exact(layout.outputs_per_example())) {
                examples.labels().numbers_of(*row..row + 1, &mut self.labels);
                losses.push(example_loss(self.loss, layout, outputs, &self.labels));
            }
        }
        Ok(losses)
    }

    /// Calls `measure` with the outputs and the labels of each batch.
    fn run(
        &mut self,
        weights: &[f32],
        examples: &Examples,
        mut measure: impl FnMut(&Layout, &[f32], &[f32]),
    ) -> Result<(), EvaluateError> {
        check_weights(self.forward.model(), weights)?;
        let (model, layout) = fitted(self.forward.model(), examples, self.loss)?;
        self.forward.set_model(model);
        for (rows, features) in batches(examples) {
            let outputs = self.forward.run(weights, features, rows.len())?;
            examples.labels().numbers_of(rows, &mut self.labels);
            measure(&layout, outputs, &self.labels);
        }
        Ok(())
    }
}

/// Returns the examples in batches: their indices, and their features, row-major.
fn batches(examples: &Examples) -> impl Iterator<Item = (Range<usize>, &[f32])> {
    let width = examples.feature_count();
    (0..examples.len()).step_by(BATCH_SIZE).map(move |start| {
        let end = examples.len().min(start + BATCH_SIZE);
        (start..end, &examples.features()[start * width..end * width])
    })
}

/// Computes the engine's metrics for predictions of another implementation of a model.
///
/// `predict` gets the features of up to 256 examples, row-major, and the number of these examples. It returns one row
/// of outputs for each example. The shapes describe one example, without the batch dimension.
///
/// # Errors
/// Returns a [`FitError`] if the examples do not match the shapes and the loss, or the predictions have the wrong
/// length.
pub fn evaluate_predictions<E: From<FitError>>(
    input_shape: &[usize],
    output_shape: &[usize],
    examples: &Examples,
    loss: Loss,
    mut predict: impl FnMut(&[f32], usize) -> Result<Vec<f32>, E>,
) -> Result<Evaluation, E> {
    let layout = check_examples(input_shape, output_shape, examples, loss)?;
    let (mut evaluation, mut labels) = (Evaluation::default(), Vec::new());
    for (rows, features) in batches(examples) {
        let outputs = predict(features, rows.len())?;
        examples.labels().numbers_of(rows, &mut labels);
        evaluation += &Evaluation::of_batch(loss, &layout, &outputs, &labels);
    }
    Ok(evaluation)
}

/// Sums the loss and the correct predictions of a model with these weights over all examples.
///
/// `weights` are flat in schema order. Every example counts once. Without examples, all sums are 0. Dropout is off, and
/// batch normalisation uses its running statistics.
///
/// # Errors
/// Returns an [`EvaluateError`] if examples or weights do not match the model and the loss.
pub fn evaluate(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
) -> Result<Metrics, EvaluateError> {
    Evaluator::new(model, loss).evaluate(weights, examples)
}

/// Computes all metrics that the loss and the labels allow, over all examples; see [`evaluate`].
///
/// # Errors
/// Returns an [`EvaluateError`] if examples or weights do not match the model and the loss.
pub fn evaluate_in_detail(
    model: &Model,
    weights: &[f32],
    examples: &Examples,
    loss: Loss,
) -> Result<Evaluation, EvaluateError> {
    Evaluator::new(model, loss).evaluate_in_detail(weights, examples)
}

#[cfg(test)]
mod tests {
    use folkmoot_onnx::{ImportLimits, build};

    use super::*;
    use crate::examples::Labels;

    fn examples(count: usize) -> Examples {
        let features = (0..3 * count).map(|index| (index as f32 * 0.7).sin()).collect();
        let labels = Labels::Classes((0..count).map(|index| (index % 2) as u32).collect());
        Examples::new(features, vec![3], labels).unwrap()
    }

    #[test]
    fn an_evaluator_that_is_used_again_measures_what_a_new_one_does() {
        let model = Model::from_onnx(&build::mlp(&[3, 8, 2], 1), &ImportLimits::default()).unwrap();
        let start = model.initial_weights();
        let other: Vec<f32> = start.iter().map(|weight| 0.5 - weight).collect();
        let loss = Loss::SoftmaxCrossEntropy;
        let mut evaluator = Evaluator::new(&model, loss);
        for count in [600, 1, 0, 256, 600, 37, 512] {
            for weights in [&start, &other] {
                let examples = examples(count);
                let metrics = evaluator.evaluate(weights, &examples).unwrap();
                assert_eq!(metrics, evaluate(&model, weights, &examples, loss).unwrap());
                assert_eq!(metrics.example_count, count as u64);
                let detail = evaluator.evaluate_in_detail(weights, &examples).unwrap();
                assert_eq!(detail, evaluate_in_detail(&model, weights, &examples, loss).unwrap());
            }
        }
        assert!(evaluator.evaluate(&start[1..], &examples(4)).is_err());
        let metrics = [&start, &other].map(|weights| evaluator.evaluate(weights, &examples(9)).unwrap());
        assert_ne!(metrics[0].loss_sum, metrics[1].loss_sum);
    }

    #[test]
    fn a_batch_that_needs_more_memory_than_allowed_is_refused() {
        let model = Model::from_onnx(&build::mlp(&[3, 8, 2], 1), &ImportLimits::default()).unwrap();
        let mut evaluator = Evaluator::new(&model, Loss::SoftmaxCrossEntropy);
        evaluator.limit_memory(100);
        let error = evaluator.evaluate(&model.initial_weights(), &examples(4)).unwrap_err();
        let EvaluateError::Memory { batch_size: 4, needed, allowed: 100 } = error else { panic!("{error}") };
        evaluator.limit_memory(needed);
        assert!(evaluator.evaluate(&model.initial_weights(), &examples(4)).is_ok());
    }

    /// Computes loss and correct predictions from the model's outputs, with the formula written out.
    #[test]
    fn a_loss_over_several_batches_is_the_sum_over_the_examples() {
        let model = Model::from_onnx(&build::mlp(&[3, 2], 1), &ImportLimits::default()).unwrap();
        let (weights, examples) = (model.initial_weights(), examples(300));
        let outputs = model.predict(&weights, examples.features(), 300).unwrap();
        let (mut loss, mut correct) = (0.0, 0);
        for (row, logits) in outputs.chunks_exact(2).enumerate() {
            let margin = f64::from(logits[row % 2]) - f64::from(logits[1 - row % 2]);
            loss += (-margin).exp().ln_1p();
            correct += u64::from(margin > 0.0 || (margin == 0.0 && row % 2 == 0));
        }
        let metrics = evaluate(&model, &weights, &examples, Loss::SoftmaxCrossEntropy).unwrap();
        assert!((metrics.loss_sum - loss).abs() < 1e-9 * loss, "{} is not {loss}", metrics.loss_sum);
        assert_eq!(metrics.correct_count, correct);
    }
}
