//! The same plan again, with other weights, other examples and another seed: for simulations, and for clients that train
//! round after round.

use super::{Trainer, write_starting_state};
use crate::examples::Examples;
use crate::fit::{check_examples, check_weights};
use crate::metrics::Metrics;
use crate::train::TrainError;
use crate::train::batches::full_batch;

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
        let model = &self.processor.source().model;
        check_weights(model, starting_weights)?;
        let layout = check_examples(model.input_shape(), model.output_shape(), examples, self.plan.loss)?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let batch_size = full_batch(self.plan.batch_size as usize, examples.len());
        let held = self.host.memory_bytes_without_correction();
        self.processor.restart(layout, examples, batch_size, held)?;
        // From here on nothing fails.
        self.forget_gpu();
        self.batches.restart(&self.plan, examples.len(), seed);
        self.processor.record(self.batches.examples_total());
        self.examples = examples.clone();
        self.seed = seed;
        self.host.weights.copy_from_slice(starting_weights);
        self.host.starting_weights.copy_from_slice(starting_weights);
        self.host.correction = None;
        write_starting_state(&self.plan, self.processor.slots(), &mut self.host.optimizer_state);
        (self.metrics, self.loss, self.left_out) = (Metrics::default(), 0.0, 0);
        Ok(())
    }
}
