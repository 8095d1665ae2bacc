//! Gradient accumulation: computes the gradient of a step in several micro-batches.

use folkmoot_graph::vectorised;

use super::batch_program::BatchProgram;

/// The position of a micro-batch in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of micro-batches before this one.
    pub(crate) index: usize,
    /// The number of examples before this micro-batch.
    pub(crate) before: usize,
    /// The number of examples in this micro-batch.
    pub(crate) examples: usize,
    /// The number of examples in the step.
    pub(crate) step_examples: usize,
}

impl Part {
    /// Returns whether this is the first micro-batch of the step.
    pub(crate) fn is_first(self) -> bool {
        self.index == 0
    }

    /// Returns whether this micro-batch is the whole step.
    pub(crate) fn is_whole(self) -> bool {
        self.examples == self.step_examples
    }

    /// Returns the factor of this micro-batch's loss in the step's loss. With example weights it is 1, because the loss
    /// is already a part of a sum.
    pub(crate) fn share(self, is_weighted: bool) -> f64 {
        if is_weighted { 1.0 } else { self.examples as f64 / self.step_examples as f64 }
    }
}

/// The sum of the micro-batches' gradients, each times its share of the step's examples.
///
/// The loss of a step is the mean Σᵢ sᵢ·lossᵢ with Σᵢ sᵢ = 1, so its gradient is a sum over the micro-batches. If all
/// examples count equally, each term is the gradient of a micro-batch's mean loss times the micro-batch's share of the
/// examples. The sum equals the large batch's gradient up to rounding. Batch normalisation is the exception: its
/// statistics cover one micro-batch.
#[derive(Debug, Default)]
pub(crate) struct Accumulator {
    /// The gradient, one tensor after another in the program's order.
    gradient: Vec<f32>,
}

impl Accumulator {
    /// Creates a sum for this many trained weights.
    pub(crate) fn new(trained_count: usize) -> Self {
        Self { gradient: vec![0.0; trained_count] }
    }

    /// Adds the gradient of the program's last micro-batch.
    pub(crate) fn add(&mut self, program: &BatchProgram, part: Part, share: f64) {
        let share = share as f32;
        let mut rest = &mut self.gradient[..];
        for index in 0..program.trained().len() {
            let gradient = program.gradient(index);
            let (sums, others) = rest.split_at_mut(gradient.len());
            rest = others;
            vectorised(
                #[inline(always)]
                || match part.is_first() {
                    true => sums.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum = share * slope),
                    false => sums.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum += share * slope),
                },
            );
        }
    }

    /// Replaces the sum.
    pub(crate) fn replace(&mut self, gradient: &[f64]) {
        self.gradient.clear();
        self.gradient.extend(gradient.iter().map(|slope| *slope as f32));
    }

    /// Returns the sum.
    pub(crate) fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Returns the number of bytes that the sum takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.gradient[..])
    }
}
