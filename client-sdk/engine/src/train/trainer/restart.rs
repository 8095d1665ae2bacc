//! The same plan again, with other weights, other examples and another seed: for simulations, and for clients that train
//! round after round.

use super::Trainer;
use super::write_starting_state;
use crate::batch::Batch;
use crate::examples::Examples;
use crate::fit::{check_examples, check_weights};
use crate::metrics::Metrics;
use crate::processor::{StepSource, Steps};
use crate::train::TrainError;
use crate::train::batches::full_batch;
use crate::train::memory::MemoryLimit;

impl Trainer {
    /// Begins anew with the same model and plan. Every bit is as with [`Trainer::new`], but compiled steps and buffers are
    /// used again: for a small model that takes a tenth of the time.
    ///
    /// Steps of several batch sizes are kept while they are small, because the rest of the examples differs from client to
    /// client. The number of threads stays, and so does secret chance, which goes on. A gradient correction has to be set
    /// again, and a training on a device is on the CPU afterwards, without a trace of the device.
    ///
    /// # Errors
    /// Those of [`Trainer::new`]. The training is then where it was.
    pub fn restart(
        &mut self,
        starting_weights: &[f32],
        examples: &Examples,
        seed: u64,
    ) -> Result<(), TrainError> {
        let source = self.steps.source();
        let model = &source.model;
        check_weights(model, starting_weights)?;
        let layout = check_examples(model.input_shape(), model.output_shape(), examples, self.plan.loss)?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let has_shares = examples.weights().is_some();
        let is_same = layout == source.layout && has_shares == source.has_shares;
        let batch_size = full_batch(self.plan.batch_size as usize, examples.len());
        let limit = self.limit_of_restart(batch_size, examples);
        if is_same {
            self.steps.restart(batch_size, limit)?;
        } else {
            let source = StepSource { layout, has_shares, ..source.clone() };
            let steps = Steps::new(source, &self.plan, batch_size)?;
            limit.check(batch_size, steps.memory_bytes())?;
            self.steps = steps;
        }
        // From here on nothing fails.
        if self.batch.memory_bytes() != Batch::bytes_for(batch_size, examples) {
            self.batch = Batch::with_room_for(batch_size, examples);
        }
        self.forget_gpu();
        self.batches.restart(&self.plan, examples.len(), seed);
        self.steps.record(self.batches.examples_total());
        self.examples = examples.clone();
        self.seed = seed;
        self.weights.copy_from_slice(starting_weights);
        self.starting_weights.copy_from_slice(starting_weights);
        self.gradient_correction = None;
        let slots = self.optimizer.slots() * self.steps.trained_count();
        write_starting_state(&self.plan, slots, &mut self.state);
        (self.metrics, self.loss) = (Metrics::default(), 0.0);
        Ok(())
    }

    /// What steps may take if the training begins anew with these examples.
    fn limit_of_restart(&self, batch_size: usize, examples: &Examples) -> MemoryLimit {
        let weights = size_of_val(&self.weights[..]) + size_of_val(&self.starting_weights[..]);
        let held = weights + size_of_val(&self.state[..]) + Batch::bytes_for(batch_size, examples);
        MemoryLimit { held, bytes_max: self.plan.memory_bytes_max }
    }
}
