//! A training in steps. A thread or a browser's worker runs it chunk by chunk.

use std::time::Duration;

use folkmoot_engine::{Examples, FitError, Precision, Progress, TrainError, Trainer, TrainingOutcome};
use folkmoot_protocol::{
    AssignmentId,
    messages::{AbortReason, Assignment},
};
use folkmoot_update::codec::wanted_products;

use super::{
    Chunk, Inputs, SystemChance, WorkError, checkpoint::StoredTraining, misfit, time_limit::TimeLimit,
};

/// The training of an assignment. The caller provides the time and stores the checkpoints.
pub struct Training {
    trainer: Trainer,
    chunk: Chunk,
    limit: TimeLimit,
    precision: Precision,
}

/// The state of a training after a chunk of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The engine's progress.
    pub progress: Progress,
    /// True if the training is done: all of the plan's steps, or at least one step and the time is up.
    pub is_over: bool,
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
        let resumed = checkpoint.and_then(|stored| resume(inputs, examples, StoredTraining::decode(stored)));
        let (mut trainer, trained) = match resumed {
            Some(resumed) => resumed,
            None => (fresh(inputs, assignment.assignment_id, examples)?, Duration::ZERO),
        };
        if let Some(correction) = &inputs.correction {
            let whole = inputs.part.spread(correction);
            let set = whole.and_then(|whole| trainer.set_gradient_correction(whole));
            set.map_err(|error| WorkError::new(AbortReason::TrainingFailed, error))?;
        }
        let recipe = assignment.recipe.as_deref();
        trainer.record_outer_products(&wanted_products(&inputs.plan, recipe, assignment.clipping_norm));
        let plan = &inputs.plan.training;
        if plan.example_privacy.is_some() {
            let chance = SystemChance::new()
                .map_err(|error| WorkError::new(AbortReason::TrainingFailed, no_chance(&error)))?;
            trainer.set_secret_chance(Box::new(chance));
        }
        let limit = TimeLimit::new(plan, trained, Duration::ZERO);
        Ok(Self { trainer, chunk: Chunk::default(), limit, precision: plan.precision })
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
        Ok(Step { progress, is_over: progress.finished || progress.step > 0 && self.limit.is_over(now) })
    }

    /// Returns the progress so far.
    pub fn progress(&self) -> Progress {
        self.trainer.progress()
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
        StoredTraining { trained: self.limit.spent(now), checkpoint: &checkpoint }.encode()
    }

    /// Ends the training and returns its result.
    pub fn finish(self) -> TrainingOutcome {
        self.trainer.finish()
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

fn resume(inputs: &Inputs, examples: &Examples, stored: StoredTraining<'_>) -> Option<(Trainer, Duration)> {
    let (model, weights, plan) = (&inputs.model, &inputs.starting_weights, inputs.plan.training.clone());
    match Trainer::resume(model, weights, plan, examples, stored.checkpoint) {
        Ok(trainer) => Some((trainer, stored.trained)),
        Err(error) => {
            tracing::warn!(%error, "the checkpoint cannot be used; training starts over");
            None
        }
    }
}

fn fresh(inputs: &Inputs, id: AssignmentId, examples: &Examples) -> Result<Trainer, WorkError> {
    let seed = id.seed();
    let plan = inputs.plan.training.clone();
    let trainer = Trainer::new(&inputs.model, &inputs.starting_weights, plan, examples, seed);
    trainer.map_err(|error| match error {
        TrainError::Plan(_)
        | TrainError::Memory { .. }
        | TrainError::Fit(FitError::Pattern { .. } | FitError::MixedExamples | FitError::NothingToTrain) => {
            WorkError::new(AbortReason::PlanUnsupported, error)
        }
        _ => failed(error),
    })
}

fn no_chance(error: &std::io::Error) -> String {
    format!("the operating system provided no random bytes, which the plan's example privacy needs: {error}")
}

fn failed(error: TrainError) -> WorkError {
    if is_about_precision(&error) {
        return WorkError::new(AbortReason::PlanUnsupported, error);
    }
    if let TrainError::Fit(error) = &error {
        return misfit(error);
    }
    WorkError::new(AbortReason::TrainingFailed, error)
}

/// Returns whether the error comes from the device. Such an error ends only plans with mixed precision, because all
/// other plans continue on the CPU.
fn is_about_precision(error: &TrainError) -> bool {
    #[cfg(feature = "gpu")]
    if matches!(error, TrainError::Gpu(_)) {
        return true;
    }
    matches!(error, TrainError::NoHalfPrecision)
}
