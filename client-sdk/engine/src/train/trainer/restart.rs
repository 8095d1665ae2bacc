//! Restarts a plan with other weights, other examples and another seed. For simulations, and for clients that train in
//! round after round.

use super::{Trainer, write_starting_state};
use crate::augmentation::{Augmenter, fitted_for};
use crate::examples::Examples;
use crate::fit::check_weights;
use crate::train::TrainError;
use crate::train::batches::full_batch;
use folkmoot_loss::metrics::Metrics;

impl Trainer {
    /// Starts over with the same model and plan. The results are bit-identical to those of [`Trainer::new`], but
    /// compiled steps and buffers are reused: for a small model this takes a tenth of the time.
    ///
    /// Small compiled steps of several batch sizes are cached, because the size of the last batch differs from client
    /// to client. The trainer keeps its number of threads and its secret random number generator, but neither the gradient
    /// correction nor the client's own model: set them again. Training on a GPU moves to the CPU, and its GPU state is dropped.
    ///
    /// # Errors
    /// Returns the errors of [`Trainer::new`]. Training then stays where it was, unless the losses that a curriculum needs do not fit the
    /// memory: then it is at its beginning.
    pub fn restart(
        &mut self,
        starting_weights: &[f32],
        examples: &Examples,
        seed: u64,
    ) -> Result<(), TrainError> {
        let model = &self.processor.source().model;
        check_weights(model, starting_weights)?;
        let (model, layout, examples) = fitted_for(&self.plan, model, examples)?;
        let augmenter = Augmenter::of(&self.plan, &model)?;
        if examples.is_empty() {
            return Err(TrainError::NoExamples);
        }
        let batch_size = full_batch(self.plan.batch_size as usize, examples.len());
        let held = self.host.memory_bytes_without_correction();
        self.processor.restart(model, layout, &examples, batch_size, held)?;
        // Only the last line can fail below, and only if the memory of the plan does not suffice.
        self.forget_gpu();
        self.batches.restart(&self.plan, examples.len(), seed);
        let step_examples = self.batches.step_examples();
        self.processor.augment(augmenter.map(|one| one.with_room_for(step_examples, &examples)));
        self.processor.record(self.batches.examples_total());
        self.examples = examples;
        self.seed = seed;
        self.host.weights.copy_from_slice(starting_weights);
        self.host.starting_weights.copy_from_slice(starting_weights);
        self.host.correction = None;
        write_starting_state(&self.plan, self.processor.state_length(), &mut self.host.optimizer_state);
        if let Some(companion) = &mut self.companion {
            companion.restart(&self.plan, starting_weights, &self.host.optimizer_state);
        }
        (self.metrics, self.loss, self.left_out) = (Metrics::default(), 0.0, 0);
        self.measure_difficulty()
    }
}
