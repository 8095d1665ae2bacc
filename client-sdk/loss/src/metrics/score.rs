//! The loss and the correct predictions of a batch's outputs.

use folkmoot_protocol::Loss;

use super::{Metrics, largest};
use crate::loss::{LabelForm, Layout, example_loss};

/// Sums the loss and the correct predictions of outputs, in double precision and in row order.
///
/// `outputs` and `labels` have one row per example, in this layout. Class numbers must be below the number of classes.
/// The step count stays 0.
pub fn score(loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) -> Metrics {
    let mut metrics =
        Metrics { correct_count: correct_examples(loss, layout, outputs, labels), ..Metrics::default() };
    for (outputs, labels) in rows(layout, outputs, labels) {
        metrics.example_count += 1;
        metrics.loss_sum += example_loss(loss, layout, outputs, labels);
    }
    metrics
}

/// Counts the examples whose classes are all predicted correctly; 0 if labels are target values.
pub fn correct_examples(loss: Loss, layout: &Layout, outputs: &[f32], labels: &[f32]) -> u64 {
    let is_right: fn(&Layout, &[f32], &[f32]) -> bool = match (layout.form, loss) {
        (LabelForm::Classes, _) => |layout, outputs, labels| {
            let positions = outputs.chunks_exact(layout.classes);
            positions.zip(labels).all(|(outputs, class)| largest(outputs) == *class as usize)
        },
        (LabelForm::Values, Loss::BinaryCrossEntropy | Loss::Hinge) => |_, scores, targets| {
            scores.iter().zip(targets).all(|(score, target)| (*score > 0.0) == (*target > 0.5))
        },
        (LabelForm::Values | LabelForm::Ignored(_), _) => return 0,
    };
    let right = rows(layout, outputs, labels).filter(|(outputs, labels)| is_right(layout, outputs, labels));
    right.count() as u64
}

/// Returns the outputs and labels of each example.
pub(super) fn rows<'a>(
    layout: &Layout,
    outputs: &'a [f32],
    labels: &'a [f32],
) -> impl Iterator<Item = (&'a [f32], &'a [f32])> {
    let (width, label_width) = (layout.outputs_per_example().max(1), layout.labels_per_example().max(1));
    outputs.chunks_exact(width).zip(labels.chunks_exact(label_width))
}
