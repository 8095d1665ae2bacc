//! A training in steps. A thread or a browser's worker runs it chunk by chunk.

use std::{borrow::Cow, time::Duration};

use folkmoot_engine::{Examples, Precision, Progress, Trainer, TrainingOutcome};
use folkmoot_protocol::messages::Assignment;
use folkmoot_update::codec::wanted_products;

use crate::{
    Chunk, Inputs, WorkError,
    checkpoint::StoredTraining,
    phases::{Phases, failed},
    time_limit::TimeLimit,
};

/// The training of an assignment. The caller provides the time and stores the checkpoints.
pub struct Training {
    /// The trainer of the phase in progress.
    trainer: Trainer,
    phases: Phases,
    /// The number of steps of the personal training, once it is over.
    steps_before: u64,
    chunk: Chunk,
    limit: TimeLimit,
    precision: Precision,
}

/// The state of a training after a chunk of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The engine's progress. It covers a personal training and the training of the shared weights together.
    pub progress: Progress,
    /// True if the training is done: all of the plan's steps, or the time is up after at least one step on the shared
    /// weights.
    pub is_over: bool,
    /// True if there was at least one step on the shared weights, so that the training can end here.
    pub may_end: bool,
}

impl Training {
    /// Creates the trainer, from the checkpoint if there is a usable one.
    ///
    /// The seed is derived from the assignment, so a restarted training produces the same update. With example privacy,
    /// a restarted training produces a different one.
    ///
    /// # Errors
    /// [`WorkError`] if the plan cannot be carried out, the examples do not fit the model, or no random bytes are
    /// available for example privacy.
    pub fn begin(
        inputs: &Inputs,
        assignment: &Assignment,
        examples: &Examples,
        checkpoint: Option<&[u8]>,
    ) -> Result<Self, WorkError> {
        let recipe = assignment.recipe.as_deref();
        let products = wanted_products(&inputs.plan, recipe, assignment.clipping_norm);
        let (phases, trainer, trained) =
            Phases::begin(inputs, assignment.assignment_id, examples, products, checkpoint)?;
        let plan = &inputs.plan.training;
        let steps_before = if phases.is_personal() { 0 } else { phases.personal_steps() };
        let limit = TimeLimit::new(plan, trained, Duration::ZERO);
        Ok(Self { trainer, phases, steps_before, chunk: Chunk::default(), limit, precision: plan.precision })
    }

    /// Starts to count the time. Call it once the training is on its device. `now` may come from any stopwatch, but all
    /// later times must come from the same one.
    pub fn start(&mut self, now: Duration) {
        self.limit = self.limit.begun_at(now);
    }

    /// Sets the duration of a chunk of steps, within which a stop or a pause is noticed.
    pub fn set_chunk(&mut self, chunk: Chunk) {
        self.chunk = chunk;
    }

    /// Ends the training as soon as something can be sent: after the next step on the shared weights.
    pub fn end_early(&mut self) {
        self.limit = self.limit.reached();
    }

    /// Runs the next chunk of steps. If the device fails, some steps may be lost, and training continues on the CPU.
    ///
    /// # Errors
    /// [`WorkError`] if the loss is no longer finite, or the plan does not run here.
    pub async fn advance(&mut self, stopwatch: &(dyn Fn() -> Duration + '_)) -> Result<Step, WorkError> {
        let (begun, was_on_device) = (stopwatch(), self.is_on_device());
        let advanced = self.trainer.advance_async(self.chunk.steps()).await;
        let now = stopwatch();
        self.chunk = match was_on_device == self.is_on_device() {
            true => self.chunk.next(now.saturating_sub(begun)),
            false => self.chunk.restart(),
        };
        let progress = advanced.map_err(failed)?;
        let is_time_up = self.limit.is_over(now);
        if !self.phases.is_personal() {
            let may_end = progress.step > 0;
            let is_over = progress.finished || may_end && is_time_up;
            return Ok(Step { progress: self.progress(), is_over, may_end });
        }
        if progress.finished || is_time_up {
            self.begin_shared().await?;
        }
        Ok(Step { progress: self.progress(), is_over: false, may_end: false })
    }

    /// Ends the personal training, and begins the training of the shared weights on the same device.
    async fn begin_shared(&mut self) -> Result<(), WorkError> {
        #[cfg(feature = "gpu")]
        self.trainer.settle_async().await;
        self.steps_before = self.trainer.progress().step;
        let next = self.phases.begin_shared(self.trainer.weights().to_vec())?;
        #[cfg_attr(
            not(feature = "gpu"),
            allow(unused_mut, unused_variables, reason = "no device is handed over")
        )]
        let mut before = std::mem::replace(&mut self.trainer, next);
        self.chunk = self.chunk.restart();
        #[cfg(feature = "gpu")]
        if let Err(error) = self.trainer.take_gpu_of(&mut before) {
            if self.precision == Precision::Mixed {
                return Err(failed(error));
            }
            tracing::warn!(%error, "the training continues on the CPU");
        }
        Ok(())
    }

    /// Returns the progress so far.
    pub fn progress(&self) -> Progress {
        let progress = self.trainer.progress();
        let step = self.steps_before + progress.step;
        let steps_total = match self.phases.is_personal() {
            true => self.phases.personal_steps() + self.phases.shared_steps(),
            false => self.steps_before + progress.steps_total,
        };
        Progress { step, steps_total, finished: progress.finished && !self.phases.is_personal(), ..progress }
    }

    /// Returns the trainer, so that the caller can move it to a device before the first step.
    pub fn trainer(&mut self) -> &mut Trainer {
        &mut self.trainer
    }

    /// Returns whether the plan can also run on the CPU.
    pub fn runs_on_cpu(&self) -> bool {
        self.precision == Precision::Single
    }

    /// Returns a checkpoint to store, from which the training can be resumed.
    pub fn checkpoint(&mut self, now: Duration) -> Vec<u8> {
        let checkpoint = self.trainer.checkpoint();
        let personal = self.phases.personal().map(Cow::Borrowed);
        StoredTraining { trained: self.limit.spent(now), personal, checkpoint: &checkpoint }.encode()
    }

    /// Ends the training and returns its result.
    pub fn finish(self) -> TrainingOutcome {
        self.phases.complete(self.trainer.finish())
    }

    #[cfg(feature = "gpu")]
    fn is_on_device(&self) -> bool {
        self.trainer.gpu().is_some()
    }

    #[cfg(not(feature = "gpu"))]
    fn is_on_device(&self) -> bool {
        false
    }
}
