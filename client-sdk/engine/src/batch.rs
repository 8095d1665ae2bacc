//! The buffers from which a step reads its examples. They are allocated once and refilled.

use std::ops::Range;

use folkmoot_graph::step;

use crate::augmentation::{AugmentedStep, Augmenter};
use crate::examples::{Examples, Labels, gather};

/// Features, labels and weights of some examples, as a program reads them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    features: Vec<f32>,
    labels: Vec<f32>,
    /// The share of each example in the loss of the step, if the examples are weighted. The shares of all examples of a
    /// step add up to 1, or to 0 if all weights are 0.
    shares: Vec<f32>,
}

/// Returns the sum of these examples' weights, added in order; 0 if they have no weights.
pub(crate) fn weight_sum(examples: &Examples, rows: &[usize]) -> f64 {
    examples.weights().map_or(0.0, |weights| step::weight_sum(weights, rows))
}

impl Batch {
    /// Creates buffers for this many examples.
    pub(crate) fn with_room_for(rows: usize, examples: &Examples) -> Self {
        let room = |per_example: usize| Vec::with_capacity(rows * per_example);
        Self {
            features: room(examples.feature_count()),
            labels: room(examples.labels().per_example()),
            shares: room(usize::from(examples.weights().is_some())),
        }
    }

    /// Copies the examples of a whole step. All indices must exist.
    #[cfg(test)]
    pub(crate) fn fill(&mut self, examples: &Examples, indices: &[usize]) {
        self.fill_part(examples, indices, weight_sum(examples, indices));
    }

    /// Copies some of a step's examples; `step_weight` is the sum of all weights of the step. All indices must exist.
    pub(crate) fn fill_part(&mut self, examples: &Examples, indices: &[usize], step_weight: f64) {
        self.features.clear();
        gather(examples.features(), examples.feature_count(), indices, &mut self.features);
        self.labels.clear();
        match examples.labels() {
            Labels::Classes(classes) => gather_numbers(classes, 1, indices, &mut self.labels),
            Labels::Sequences(classes, width) => gather_numbers(classes, *width, indices, &mut self.labels),
            Labels::Targets(targets, width) => gather(targets, *width, indices, &mut self.labels),
        }
        self.shares.clear();
        if let Some(weights) = examples.weights() {
            step::append_shares(weights, indices, step_weight, &mut self.shares);
        }
    }

    /// Changes these examples: the rows of the step at `part`.
    pub(crate) fn augment(&mut self, augmenter: &mut Augmenter, step: AugmentedStep<'_>, part: Range<usize>) {
        augmenter.alter(step, part, &mut self.features, &mut self.labels);
    }

    /// Row-major features.
    pub(crate) fn features(&self) -> &[f32] {
        &self.features
    }

    /// Row-major labels; class numbers as floats, which are exact up to 2²⁴.
    pub(crate) fn labels(&self) -> &[f32] {
        &self.labels
    }

    /// The share of each example in the step's loss; empty if the examples have no weights.
    pub(crate) fn shares(&self) -> &[f32] {
        &self.shares
    }

    /// Returns a program's inputs: features, labels, and shares if the program has that input.
    pub(crate) fn inputs(&self) -> [&[f32]; 3] {
        [&self.features, &self.labels, &self.shares]
    }

    /// Returns the number of bytes that buffers for this many examples take.
    pub(crate) fn bytes_for(rows: usize, examples: &Examples) -> usize {
        let shares = usize::from(examples.weights().is_some());
        rows * (examples.feature_count() + examples.labels().per_example() + shares) * size_of::<f32>()
    }

    /// Returns the number of bytes that the buffers take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let elements = self.features.capacity() + self.labels.capacity() + self.shares.capacity();
        elements * size_of::<f32>()
    }
}

fn gather_numbers(classes: &[u32], width: usize, rows: &[usize], gathered: &mut Vec<f32>) {
    for row in rows {
        gathered.extend(classes[row * width..(row + 1) * width].iter().map(|class| *class as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_filled_again_without_growing() {
        let examples = Examples::new(vec![1.0, 2.0, 3.0], vec![1], Labels::Classes(vec![7, 8, 9])).unwrap();
        let examples = examples.with_weights(vec![1.0, 3.0, 0.0]).unwrap();
        let mut batch = Batch::with_room_for(2, &examples);
        let bytes = batch.memory_bytes();
        assert_eq!(bytes, Batch::bytes_for(2, &examples));
        batch.fill(&examples, &[2, 0]);
        assert_eq!(batch.inputs(), [&[3.0, 1.0][..], &[9.0, 7.0], &[0.0, 1.0]]);
        batch.fill(&examples, &[0, 1]);
        assert_eq!(batch.shares(), [0.25, 0.75]);
        batch.fill(&examples, &[2]);
        assert_eq!((batch.labels(), batch.shares()), (&[9.0][..], &[0.0][..]));
        assert_eq!(batch.memory_bytes(), bytes);
    }

    #[test]
    fn a_part_has_the_shares_of_the_step() {
        let examples = Examples::new(vec![1.0, 2.0, 3.0], vec![1], Labels::Classes(vec![7, 8, 9])).unwrap();
        assert_eq!(weight_sum(&examples, &[0, 1, 2]), 0.0);
        let examples = examples.with_weights(vec![1.0, 3.0, 4.0]).unwrap();
        let mut batch = Batch::with_room_for(2, &examples);
        batch.fill_part(&examples, &[2, 0], weight_sum(&examples, &[2, 0, 1]));
        assert_eq!(batch.shares(), [0.5, 0.125]);
    }
}
