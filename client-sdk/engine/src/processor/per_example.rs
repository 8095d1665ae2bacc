//! Per-example clipping (Abadi et al. 2016, algorithm 1), with the noise of DP-SGD or without.

use folkmoot_graph::random::step_seed;
use folkmoot_protocol::ExamplePrivacy;

use super::accumulator::Part;
use super::batch_program::BatchProgram;
use super::clipping::norm_factor;
use super::private_sum::PrivateSum;
use crate::batch::Batch;
use crate::step::SecretChance;

/// The average of clipped gradients, and what else a batch gives when its examples run one by one.
#[derive(Debug)]
pub(crate) struct PerExample {
    /// The bound of the gradients' norms.
    bound: f32,
    /// The average, tensor after tensor in the order of the program. With example privacy it is 0 until it has its noise.
    gradient: Vec<f32>,
    /// With example privacy, the sum before the noise.
    private: Option<PrivateSum>,
    /// The examples of a full batch, which are the divisor with example privacy.
    batch_size: usize,
    /// The model's outputs.
    outputs: Vec<f32>,
    /// The mean loss.
    loss: f64,
}

impl PerExample {
    /// Buffers for a program of batch size 1 and batches of up to `batch_size` examples.
    pub(crate) fn new(
        program: &BatchProgram,
        batch_size: usize,
        bound: f32,
        privacy: Option<ExamplePrivacy>,
    ) -> Self {
        let elements = program.trained().iter().map(|range| range.len()).sum();
        let outputs = Vec::with_capacity(batch_size * program.output_length());
        let private = privacy.map(|privacy| PrivateSum::new(bound, privacy.noise_multiplier, elements));
        Self { bound, gradient: vec![0.0; elements], private, batch_size, outputs, loss: 0.0 }
    }

    /// Makes room for the outputs of this many examples, and for no more.
    pub(crate) fn make_room(&mut self, program: &BatchProgram, batch_size: usize) {
        self.batch_size = batch_size;
        let outputs = batch_size * program.output_length();
        if self.outputs.capacity() != outputs {
            self.outputs = Vec::with_capacity(outputs);
        }
    }

    /// Begins a step.
    pub(crate) fn begin(&mut self) {
        self.gradient.fill(0.0);
        if let Some(private) = &mut self.private {
            private.clear();
        }
        self.loss = 0.0;
    }

    /// Whether the gradient gets noise.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Runs every example of a micro-batch by itself, scales its gradient to a norm of at most the bound, and adds it to the
    /// average over the step, which was begun. Into how many a step is divided changes no bit. `rows` says which of all
    /// examples they are.
    ///
    /// Weights of examples multiply gradients before they are clipped, so that no example changes the average by more
    /// than `bound / examples`, whatever its weight: with its share s of the step, the factor is s·examples. With example
    /// privacy the factor is the weight itself.
    pub(crate) fn run(
        &mut self,
        program: &mut BatchProgram,
        weights: &[f32],
        batch: &Batch,
        part: Part,
        rows: &[usize],
        seed: u64,
    ) {
        self.outputs.clear();
        for (example, row) in rows.iter().enumerate() {
            // What dropout leaves out of an example may not depend on which others were drawn, if these are to be hidden.
            let place = if self.is_private() { *row } else { part.before + example };
            program.run_example(weights, batch, example, part.examples, step_seed(seed, place as u64));
            self.outputs.extend_from_slice(program.output());
            let weight = batch.shares().get(example).copied();
            match self.private {
                Some(_) => self.add_private(program, weight.unwrap_or(1.0), part.step_examples),
                None => self.add(program, weight, part.step_examples),
            }
        }
    }

    /// Adds an example with this share of the step, by default an equal one, to the average.
    fn add(&mut self, program: &BatchProgram, share: Option<f32>, examples: usize) {
        let share = share.unwrap_or(1.0 / examples as f32);
        self.loss += program.loss() * f64::from(share);
        let factor = share * examples as f32;
        if factor == 0.0 {
            return;
        }
        let tensors = gradients(program);
        let clipping = norm_factor(tensors.clone(), self.bound / factor);
        let scale = factor * clipping / examples as f32;
        for (average, element) in self.gradient.iter_mut().zip(tensors.flatten()) {
            *average += scale * element;
        }
    }

    /// Adds an example with this weight to the sum. A loss that is not finite is left out, as its gradient is.
    fn add_private(&mut self, program: &BatchProgram, weight: f32, examples: usize) {
        let loss = program.loss() * f64::from(weight);
        self.loss += if loss.is_finite() { loss / examples as f64 } else { 0.0 };
        if let Some(private) = &mut self.private {
            private.add(gradients(program), weight);
        }
    }

    /// Adds the noise of example privacy and divides by the size of a full batch.
    pub(crate) fn release(&mut self, chance: &mut dyn SecretChance) {
        if let Some(private) = &mut self.private {
            private.release(chance, self.batch_size, &mut self.gradient);
        }
    }

    /// The average gradient of the step, tensor after tensor.
    pub(crate) fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// The model's outputs for the last micro-batch, row after row.
    pub(crate) fn outputs(&self) -> &[f32] {
        &self.outputs
    }

    /// The mean loss of the step.
    pub(crate) fn loss(&self) -> f64 {
        self.loss
    }

    /// Bytes of the buffers.
    pub(crate) fn memory_bytes(&self) -> usize {
        let floats = (self.gradient.len() + self.outputs.capacity()) * size_of::<f32>();
        floats + self.private.as_ref().map_or(0, PrivateSum::memory_bytes)
    }

    /// The sum of integers before its noise, and the most that an example changes it by.
    #[cfg(test)]
    pub(crate) fn private_sum(&self) -> (&[i64], u64) {
        self.private.as_ref().expect("the plan asks for example privacy").sums()
    }
}

/// The gradients of the example that a program ran last.
fn gradients(program: &BatchProgram) -> impl Iterator<Item = &[f32]> + Clone {
    (0..program.trained().len()).map(|index| program.gradient(index))
}
