//! Gradient accumulation: the gradient of a step whose examples are computed in several micro-batches.

use folkmoot_graph::vectorised;

use super::batch_program::BatchProgram;

/// Which of a step's examples a micro-batch holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// The micro-batches before it.
    pub(crate) index: usize,
    /// The examples before it.
    pub(crate) before: usize,
    /// Its own examples.
    pub(crate) examples: usize,
    /// All examples of the step.
    pub(crate) step_examples: usize,
}

impl Part {
    /// Whether it begins the step.
    pub(crate) fn is_first(self) -> bool {
        self.index == 0
    }

    /// Whether it is the step.
    pub(crate) fn is_whole(self) -> bool {
        self.examples == self.step_examples
    }

    /// What its mean loss counts in that of the step. With weights of examples it is a part of a sum already.
    pub(crate) fn share(self, is_weighted: bool) -> f64 {
        if is_weighted { 1.0 } else { self.examples as f64 / self.step_examples as f64 }
    }
}

/// The sum of gradients over micro-batches, each times its share of the step's examples.
///
/// The loss of a step is the mean Σᵢ sᵢ·lossᵢ with Σᵢ sᵢ = 1, so its gradient is the sum of those of the micro-batches over
/// their own sᵢ: of a micro-batch's mean, if all examples count alike, times its share of the examples. It is that of the
/// large batch up to rounding, except through batch normalisation, whose statistics are those of a micro-batch.
#[derive(Debug, Default)]
pub(crate) struct Accumulator {
    /// Tensor after tensor in the order of the program.
    gradient: Vec<f32>,
}

impl Accumulator {
    /// A sum for so many trained weights.
    pub(crate) fn new(trained_count: usize) -> Self {
        Self { gradient: vec![0.0; trained_count] }
    }

    /// Adds the gradient of the micro-batch that the program ran last.
    pub(crate) fn add(&mut self, program: &BatchProgram, part: Part, share: f64) {
        let share = share as f32;
        let mut rest = &mut self.gradient[..];
        for index in 0..program.trained().len() {
            let gradient = program.gradient(index);
            let (sums, others) = rest.split_at_mut(gradient.len());
            rest = others;
            vectorised(|| match part.is_first() {
                true => sums.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum = share * slope),
                false => sums.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum += share * slope),
            });
        }
    }

    /// The sum.
    pub(crate) fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Bytes of the sum.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.gradient[..])
    }
}
