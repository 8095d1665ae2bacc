use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_engine::{Examples, FitError, Progress, TrainError, Trainer, TrainingOutcome};
use folkmoot_protocol::{
    Plan,
    messages::{AbortReason, Assignment},
};

use super::{Inputs, WorkError};
use crate::{
    Host,
    storage::{BlobCache, WorkStore},
};

/// How often a training is stored, so that a killed process loses no more than this.
const CHECKPOINT_MILLISECONDS: u64 = 5000;
/// How often progress is told.
const PROGRESS_MILLISECONDS: u64 = 100;

/// Everything that a training needs; it runs on a thread of its own.
pub(crate) struct LocalTraining {
    pub assignment: Assignment,
    pub examples: Examples,
    pub blobs: BlobCache,
    pub work: WorkStore,
    pub host: Host,
    /// Set from outside to end the training after the step under way.
    pub stop: Arc<AtomicBool>,
}

/// What was trained, and what is needed to make an update of it.
#[derive(Debug)]
pub(crate) struct TrainedWork {
    pub assignment: Assignment,
    pub plan: Plan,
    pub outcome: TrainingOutcome,
    /// The examples that the client holds.
    pub held_example_count: u64,
}

/// Trains to the end, from the checkpoint if there is one. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the blobs, the plan or the examples do not allow it, or the loss is not finite any more.
pub(crate) fn train(
    training: &LocalTraining,
    on_progress: impl Fn(Progress),
) -> Result<Option<TrainedWork>, WorkError> {
    let inputs = Inputs::load(&training.assignment, &training.blobs, training.host.now())?;
    let mut trainer = trainer(training, &inputs)?;
    let mut stored_at = training.host.now();
    let mut told_at = stored_at;
    on_progress(trainer.progress());
    while !trainer.progress().finished {
        if training.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let progress = trainer.step().map_err(failed)?;
        let now = training.host.now();
        if progress.finished || now.milliseconds_since(told_at) >= PROGRESS_MILLISECONDS {
            on_progress(progress);
            told_at = now;
        }
        if now.milliseconds_since(stored_at) >= CHECKPOINT_MILLISECONDS {
            store_checkpoint(training, &trainer);
            stored_at = now;
        }
    }
    Ok(Some(TrainedWork {
        assignment: training.assignment.clone(),
        plan: inputs.plan,
        outcome: trainer.finish(),
        held_example_count: training.examples.len() as u64,
    }))
}

/// Makes the trainer. The seed is the assignment's, so a training that is begun again gives the same update.
fn trainer(training: &LocalTraining, inputs: &Inputs) -> Result<Trainer, WorkError> {
    let plan = inputs.plan.training.clone();
    let id = training.assignment.assignment_id;
    let (model, weights) = (&inputs.model, &inputs.starting_weights);
    let checkpoint = training.work.load_checkpoint(id).unwrap_or_else(|error| {
        tracing::warn!(%error, "the checkpoint cannot be read; training begins again");
        None
    });
    if let Some(bytes) = checkpoint {
        match Trainer::resume(model, weights, plan.clone(), &training.examples, &bytes) {
            Ok(trainer) => return Ok(trainer),
            Err(error) => tracing::warn!(%error, "the checkpoint cannot be used; training begins again"),
        }
    }
    let [a, b, c, d, e, f, g, h, ..] = *id.as_bytes();
    let seed = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    Trainer::new(model, weights, plan, &training.examples, seed).map_err(|error| match error {
        TrainError::Plan(_)
        | TrainError::Memory { .. }
        | TrainError::Fit(
            FitError::FrozenPattern { .. } | FitError::MixedExamples | FitError::NothingToTrain,
        ) => WorkError::new(AbortReason::PlanUnsupported, error),
        _ => failed(error),
    })
}

/// A checkpoint that cannot be stored costs time after a crash, nothing else.
fn store_checkpoint(training: &LocalTraining, trainer: &Trainer) {
    if let Err(error) =
        training.work.save_checkpoint(training.assignment.assignment_id, &trainer.checkpoint())
    {
        tracing::warn!(%error, "the checkpoint cannot be stored");
    }
}

/// What does not fit may name a label: that stays in the local log.
fn failed(error: TrainError) -> WorkError {
    if let TrainError::Fit(error) = &error {
        tracing::warn!(%error, "the examples do not fit the model");
        let detail = "the local examples do not fit the model and the loss; the client's log says how";
        return WorkError::new(AbortReason::TrainingFailed, detail);
    }
    WorkError::new(AbortReason::TrainingFailed, error)
}
