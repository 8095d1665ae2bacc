use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use folkmoot_engine::{Examples, FitError, Precision, TrainError, Trainer, TrainingOutcome};
use folkmoot_protocol::{
    Plan,
    messages::{AbortReason, Assignment},
};

use super::{Inputs, TrainingNews, WorkError, chunk::Chunk};
use crate::{
    Devices, Host, Placement,
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
    pub devices: Devices,
    pub host: Host,
    /// Set from outside to end the training after the steps under way.
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
    on_news: impl Fn(TrainingNews),
) -> Result<Option<TrainedWork>, WorkError> {
    let inputs = Inputs::load(&training.assignment, &training.blobs, training.host.now())?;
    let mut trainer = trainer(training, &inputs)?;
    let mut placement = place(training, &inputs, &mut trainer)?;
    on_news(TrainingNews::Placed(placement.clone()));
    let mut stored_at = training.host.now();
    let mut told_at = stored_at;
    let mut chunk = Chunk::default();
    on_news(TrainingNews::Progress(trainer.progress()));
    while !trainer.progress().finished {
        if training.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let begun = training.host.elapsed();
        let advanced = trainer.advance(chunk.steps());
        if let Some(cpu) = training.devices.came_back(&placement, &trainer) {
            on_news(TrainingNews::Placed(cpu.clone()));
            (placement, chunk) = (cpu, Chunk::default());
        } else {
            chunk = chunk.next(training.host.elapsed().saturating_sub(begun));
        }
        let progress = advanced.map_err(failed)?;
        let now = training.host.now();
        if progress.finished || now.milliseconds_since(told_at) >= PROGRESS_MILLISECONDS {
            on_news(TrainingNews::Progress(progress));
            told_at = now;
        }
        if now.milliseconds_since(stored_at) >= CHECKPOINT_MILLISECONDS {
            store_checkpoint(training, &mut trainer);
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

/// Puts the training where the client is to train; on the CPU if that is not possible and the plan allows it.
fn place(training: &LocalTraining, inputs: &Inputs, trainer: &mut Trainer) -> Result<Placement, WorkError> {
    let plan = &inputs.plan.training;
    let placement = match training.devices.place(trainer, plan, inputs.plan.model) {
        Ok(placement) => placement,
        Err(error) if plan.precision == Precision::Mixed => {
            return Err(WorkError::new(AbortReason::PlanUnsupported, error));
        }
        Err(error) => {
            tracing::warn!(%error, "training runs on the CPU");
            Placement::cpu()
        }
    };
    let Placement { device, energy_class, .. } = &placement;
    tracing::info!(device, energy_class, "training begins");
    Ok(placement)
}

/// A checkpoint that cannot be stored costs time after a crash, nothing else.
fn store_checkpoint(training: &LocalTraining, trainer: &mut Trainer) {
    if let Err(error) =
        training.work.save_checkpoint(training.assignment.assignment_id, &trainer.checkpoint())
    {
        tracing::warn!(%error, "the checkpoint cannot be stored");
    }
}

/// What does not fit may name a label: that stays in the local log.
fn failed(error: TrainError) -> WorkError {
    if is_about_precision(&error) {
        return WorkError::new(AbortReason::PlanUnsupported, error);
    }
    if let TrainError::Fit(error) = &error {
        tracing::warn!(%error, "the examples do not fit the model");
        let detail = "the local examples do not fit the model and the loss; the client's log says how";
        return WorkError::new(AbortReason::TrainingFailed, detail);
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
