//! Per-example clipping: the gradient of DP-SGD without its noise (Abadi et al. 2016, algorithm 1).

use super::accumulator::Part;
use super::clipping::norm_factor;
use super::step_program::StepProgram;
use crate::batch::Batch;
use crate::random::step_seed;

/// The average of clipped gradients, and what else a batch gives when its examples run one by one.
#[derive(Debug, Default)]
pub(super) struct PerExample {
    /// The average, tensor after tensor in the order of the program.
    gradient: Vec<f32>,
    /// The model's outputs.
    outputs: Vec<f32>,
    /// The mean loss.
    loss: f64,
}

impl PerExample {
    /// Buffers for a program of batch size 1 and batches of up to `batch_size` examples.
    pub(super) fn new(program: &StepProgram, batch_size: usize) -> Self {
        let elements = program.trained().iter().map(|range| range.len()).sum();
        let outputs = Vec::with_capacity(batch_size * program.output_length());
        Self { gradient: vec![0.0; elements], outputs, loss: 0.0 }
    }

    /// Makes room for the outputs of this many examples, and for no more.
    pub(super) fn make_room(&mut self, program: &StepProgram, batch_size: usize) {
        let outputs = batch_size * program.output_length();
        if self.outputs.capacity() != outputs {
            self.outputs = Vec::with_capacity(outputs);
        }
    }

    /// Runs every example of a micro-batch by itself, scales its gradient to a norm of at most `bound`, and adds it to the
    /// average over the step, which the first micro-batch begins. Into how many a step is divided changes no bit.
    ///
    /// Weights of examples multiply gradients before they are clipped, so that no example changes the average by more
    /// than `bound / examples`, whatever its weight: with its share s of the step, the factor is s·examples.
    pub(super) fn run(
        &mut self,
        program: &mut StepProgram,
        weights: &[f32],
        batch: &Batch,
        part: Part,
        bound: f32,
        seed: u64,
    ) {
        if part.is_first() {
            self.gradient.fill(0.0);
            self.loss = 0.0;
        }
        self.outputs.clear();
        let step_examples = part.step_examples;
        for example in 0..part.examples {
            let seed = step_seed(seed, (part.before + example) as u64);
            program.run_example(weights, batch, example, part.examples, seed);
            self.outputs.extend_from_slice(program.output());
            let share = batch.shares().get(example).map_or(1.0 / step_examples as f32, |share| *share);
            self.loss += program.loss() * f64::from(share);
            self.add_clipped(program, share * step_examples as f32, bound, step_examples);
        }
    }

    /// Adds an example's gradient, times `factor` and clipped, to the average.
    fn add_clipped(&mut self, program: &StepProgram, factor: f32, bound: f32, examples: usize) {
        if factor == 0.0 {
            return;
        }
        let tensors = (0..program.trained().len()).map(|index| program.gradient(index));
        let clipping = norm_factor(tensors.clone(), bound / factor);
        let scale = factor * clipping / examples as f32;
        let mut averages = self.gradient.iter_mut();
        for element in tensors.flatten() {
            if let Some(average) = averages.next() {
                *average += scale * element;
            }
        }
    }

    /// The average gradient of the step, tensor after tensor.
    pub(super) fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// The model's outputs for the last micro-batch, row after row.
    pub(super) fn outputs(&self) -> &[f32] {
        &self.outputs
    }

    /// The mean loss of the step.
    pub(super) fn loss(&self) -> f64 {
        self.loss
    }

    /// Bytes of the buffers.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.gradient.len() + self.outputs.capacity()) * size_of::<f32>()
    }
}
