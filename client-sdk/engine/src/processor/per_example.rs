//! Per-example clipping (Abadi et al. 2016, algorithm 1), with or without the noise of DP-SGD.

use folkmoot_graph::random::step_seed;
use folkmoot_protocol::ExamplePrivacy;

use super::accumulator::Part;
use super::batch_program::BatchProgram;
use super::clipping::norm_factor;
use super::private_sum::PrivateSum;
use crate::batch::Batch;
use crate::step::SecretChance;

/// The average of clipped gradients, and the results of a batch whose examples run one by one.
#[derive(Debug)]
pub(crate) struct PerExample {
    /// The clipping norm.
    bound: f32,
    /// The average, one tensor after another in the program's order. With example privacy it is 0 until noise is added.
    gradient: Vec<f32>,
    /// The sum before noise, with example privacy.
    private: Option<PrivateSum>,
    /// The full batch size, which is the divisor with example privacy.
    batch_size: usize,
    /// The model's outputs.
    outputs: Vec<f32>,
    /// The mean loss.
    loss: f64,
}

impl PerExample {
    /// Creates buffers for a program of batch size 1 and batches of up to `batch_size` examples.
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

    /// Resizes the output buffer for this many examples.
    pub(crate) fn make_room(&mut self, program: &BatchProgram, batch_size: usize) {
        self.batch_size = batch_size;
        let outputs = batch_size * program.output_length();
        if self.outputs.capacity() != outputs {
            self.outputs = Vec::with_capacity(outputs);
        }
    }

    /// Starts a step.
    pub(crate) fn begin(&mut self) {
        self.gradient.fill(0.0);
        if let Some(private) = &mut self.private {
            private.clear();
        }
        self.loss = 0.0;
    }

    /// Returns whether the gradient gets noise.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Runs every example of a micro-batch separately, clips its gradient to the bound, and adds it to the average over
    /// the step. Call [`Self::begin`] first. The division of a step into micro-batches does not change the result, to
    /// the bit. `rows` are the examples' indexes in the data set.
    ///
    /// Example weights multiply gradients before clipping, so no example changes the average by more than `bound /
    /// examples`, regardless of its weight. The factor is s·examples, with the example's share s of the step. With
    /// example privacy, the factor is the weight itself.
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
            // To hide which examples were drawn, an example's dropout must not depend on the others.
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

    /// Adds an example with this share of the step to the average. Without shares, all examples count equally.
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

    /// Adds an example with this weight to the sum. Skips an example whose loss or gradient is not finite.
    fn add_private(&mut self, program: &BatchProgram, weight: f32, examples: usize) {
        let loss = program.loss() * f64::from(weight);
        self.loss += if loss.is_finite() { loss / examples as f64 } else { 0.0 };
        if let Some(private) = &mut self.private {
            private.add(gradients(program), weight);
        }
    }

    /// Adds the noise of example privacy and divides by the full batch size.
    pub(crate) fn release(&mut self, chance: &mut dyn SecretChance) {
        if let Some(private) = &mut self.private {
            private.release(chance, self.batch_size, &mut self.gradient);
        }
    }

    /// Returns the average gradient of the step, one tensor after another.
    pub(crate) fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Returns the model's outputs for the last micro-batch, row by row.
    pub(crate) fn outputs(&self) -> &[f32] {
        &self.outputs
    }

    /// Returns the mean loss of the step.
    pub(crate) fn loss(&self) -> f64 {
        self.loss
    }

    /// Returns the number of bytes that the buffers take.
    pub(crate) fn memory_bytes(&self) -> usize {
        let floats = (self.gradient.len() + self.outputs.capacity()) * size_of::<f32>();
        floats + self.private.as_ref().map_or(0, PrivateSum::memory_bytes)
    }

    /// Returns the integer sums before noise, and the sensitivity: the maximum change of a sum by one example.
    #[cfg(test)]
    pub(crate) fn private_sum(&self) -> (&[i64], u64) {
        self.private.as_ref().expect("the plan asks for example privacy").sums()
    }
}

/// Returns the gradients of the program's last example.
fn gradients(program: &BatchProgram) -> impl Iterator<Item = &[f32]> + Clone {
    (0..program.trained().len()).map(|index| program.gradient(index))
}
