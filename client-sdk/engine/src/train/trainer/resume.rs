//! Stores the state of training, and resumes it.

use folkmoot_graph::step::HostState;
use folkmoot_protocol::TrainingPlan;

use super::Trainer;
use super::companion::Companion;
use crate::examples::Examples;
use crate::model::Model;
use crate::step::Phase;
use crate::train::TrainError;
use crate::train::checkpoint::{self, Checkpoint};

impl Trainer {
    /// Resumes training from a [`Trainer::checkpoint`]. All other arguments must be those of the interrupted training.
    /// Afterwards, set the gradient correction, the last local model of a contrast and the secret random number generator again.
    ///
    /// # Errors
    /// Returns [`TrainError::Checkpoint`] if the bytes are damaged or from another training run, and the errors of
    /// [`Trainer::new`].
    pub fn resume(
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        checkpoint: &[u8],
    ) -> Result<Self, TrainError> {
        Self::resume_phase(Phase::Shared, model, starting_weights, plan, examples, checkpoint)
    }

    pub(super) fn resume_phase(
        phase: Phase,
        model: &Model,
        starting_weights: &[f32],
        plan: TrainingPlan,
        examples: &Examples,
        checkpoint: &[u8],
    ) -> Result<Self, TrainError> {
        let checkpoint = Checkpoint::decode(checkpoint)?;
        let mut trainer = Self::of(phase, model, starting_weights, plan, examples, checkpoint.seed)?;
        let HostState { weights, optimizer_state, .. } = &trainer.host;
        let (length, beside) =
            (optimizer_state.len(), trainer.companion.as_ref().map_or(0, Companion::number_count));
        checkpoint.check(trainer.fingerprint(), weights.len(), length + beside)?;
        let (mut state, weights) = (checkpoint.state, checkpoint.weights);
        let numbers = state.split_off(length);
        if let Some(companion) = &mut trainer.companion {
            companion.restore(&numbers, &weights);
        }
        (trainer.host.weights, trainer.host.optimizer_state) = (weights, state);
        trainer.metrics = checkpoint.metrics;
        trainer.loss = checkpoint.loss;
        Ok(trainer)
    }

    /// Returns the state of training as bytes: weights, optimizer state, own model, step, sums and seed, but neither the examples
    /// nor the starting weights. It does not depend on the device.
    pub fn checkpoint(&mut self) -> Vec<u8> {
        self.settle();
        let (metrics, loss) = self.settled();
        let mut state = self.host.optimizer_state.clone();
        state.extend(self.companion.iter().flat_map(Companion::numbers));
        Checkpoint {
            fingerprint: self.fingerprint(),
            seed: self.seed,
            metrics,
            loss,
            weights: self.host.weights.clone(),
            state,
        }
        .encode()
    }

    fn fingerprint(&self) -> u64 {
        let fingerprint =
            checkpoint::fingerprint(&self.plan, &self.host.starting_weights, self.examples.len());
        match self.phase {
            Phase::Shared => fingerprint,
            Phase::Personal => !fingerprint,
        }
    }
}
