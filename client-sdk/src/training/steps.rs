//! A training in steps, which a thread or a browser's worker takes one chunk after the other.

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

/// The training of an assignment. The caller brings the time and keeps the checkpoints.
pub struct Training {
    trainer: Trainer,
    chunk: Chunk,
    limit: TimeLimit,
    precision: Precision,
}

/// How far a training is after a chunk of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The engine's progress.
    pub progress: Progress,
    /// Whether the training is over: after the plan's steps, or after a step at least when its time is up.
    pub is_over: bool,
}

impl Training {
    /// Makes the trainer, from the checkpoint if there is one that can be used.
    ///
    /// The seed is the assignment's, so a training that is begun again gives the same update; one with example privacy
    /// gives another.
    ///
    /// # Errors
    /// [`WorkError`] if the plan or the examples do not allow it, or there is no randomness for example privacy.
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

    /// Begins to count the time, which is that of any stopwatch, always the same: when the training is where it runs.
    pub fn start(&mut self, now: Duration) {
        self.limit = self.limit.begun_at(now);
    }

    /// Lets a chunk of steps take at most about so long, within which a stop or a pause is noticed.
    pub fn set_chunk(&mut self, chunk: Chunk) {
        self.chunk = chunk;
    }

    /// Takes the next chunk of steps. On a device that fails some steps may be lost; the training goes on on the CPU.
    ///
    /// # Errors
    /// [`WorkError`] if the loss is not finite any more, or the plan does not run here.
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

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.trainer.progress()
    }

    /// The trainer, to put it on a device before the first step.
    pub fn trainer(&mut self) -> &mut Trainer {
        &mut self.trainer
    }

    /// Whether the plan runs on the processor too.
    pub fn runs_on_cpu(&self) -> bool {
        self.precision == Precision::Single
    }

    /// What is to be stored, so that the training can be gone on with.
    pub fn checkpoint(&mut self, now: Duration) -> Vec<u8> {
        let checkpoint = self.trainer.checkpoint();
        StoredTraining { trained: self.limit.spent(now), checkpoint: &checkpoint }.encode()
    }

    /// Ends the training with what was trained.
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
            tracing::warn!(%error, "the checkpoint cannot be used; training begins again");
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
        | TrainError::Fit(
            FitError::FrozenPattern { .. } | FitError::MixedExamples | FitError::NothingToTrain,
        ) => WorkError::new(AbortReason::PlanUnsupported, error),
        _ => failed(error),
    })
}

fn no_chance(error: &std::io::Error) -> String {
    format!("the operating system gave no randomness, which the plan's example privacy needs: {error}")
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

/// Only a plan with mixed precision fails because of a device: any other goes on on the CPU.
fn is_about_precision(error: &TrainError) -> bool {
    #[cfg(feature = "gpu")]
    if matches!(error, TrainError::Gpu(_)) {
        return true;
    }
    matches!(error, TrainError::NoHalfPrecision)
}
