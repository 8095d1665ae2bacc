use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{Examples, TrainingOutcome};
use folkmoot_protocol::{Work, messages::Assignment};

use super::{
    FinishedWork, Inputs, LocalTrainer, WorkError, WorkNews,
    evaluate::evaluate,
    local_trainer::{evaluate_with, train_with},
    train::train,
};
use crate::{
    Budget, Consent, DeviceCare, Devices, Host,
    storage::{BlobCache, ModelStore, WorkStore},
};

/// How often progress is told.
pub(super) const PROGRESS_MILLISECONDS: u64 = 100;

/// Everything that the work of an assignment needs; it runs on a thread of its own.
pub(crate) struct LocalWork {
    pub assignment: Assignment,
    pub examples: Examples,
    /// Trains and measures instead of the engine.
    pub trainer: Option<Arc<dyn LocalTrainer>>,
    pub consent: Consent,
    pub care: DeviceCare,
    pub blobs: BlobCache,
    pub models: ModelStore,
    pub work: WorkStore,
    pub devices: Devices,
    pub budget: Budget,
    pub host: Host,
    /// Set from outside to end the work after the steps under way.
    pub stop: Arc<AtomicBool>,
    /// Set from outside to end a training after the step under way, with what it has.
    pub asked: Arc<AtomicBool>,
}

impl LocalWork {
    /// Waits while the device is not to train, and returns how long that was.
    pub fn rest(&self, on_rest: impl FnOnce()) -> Duration {
        self.care.rest(&self.stop, || self.host.elapsed(), on_rest)
    }
}

/// Does what the plan asks for, to the end. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan's device rules do not hold, if the blobs, the plan or the examples do not allow the work, or
/// if the loss is not finite.
pub(crate) fn work(local: &LocalWork, on_news: impl Fn(WorkNews)) -> Result<Option<FinishedWork>, WorkError> {
    let inputs = Inputs::load(&local.assignment, &local.blobs, &local.budget, local.host.now())?;
    let _kept = local.care.keep_to(local.assignment.assignment_id, &inputs.plan.device_rules);
    local.rest(|| {});
    if local.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // They held when the plan came; since then the app may have started again with other attributes.
    if !local.consent.rules_hold(&inputs.plan, &local.care.conditions()) {
        return Err(WorkError::declined());
    }
    local.models.note(&local.assignment, &inputs);
    let (outcome, held) = match &local.trainer {
        Some(trainer) => {
            let outcome = own_work(trainer.as_ref(), local, &inputs, on_news)?;
            // What the app's own loop says that it used is what it holds.
            let held = outcome.as_ref().map_or(0, |outcome| outcome.metrics.example_count);
            (outcome, held)
        }
        None => (engine_work(local, &inputs, on_news)?, local.examples.len() as u64),
    };
    Ok(outcome.map(|outcome| FinishedWork {
        assignment: local.assignment.clone(),
        plan: inputs.plan,
        outcome,
        held_example_count: held,
    }))
}

fn own_work(
    trainer: &dyn LocalTrainer,
    local: &LocalWork,
    inputs: &Inputs,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    if inputs.plan.work == Work::Training {
        return train_with(trainer, local, inputs);
    }
    match evaluate_with(trainer, local, inputs)? {
        Some(outcome) => Ok(Some(outcome)),
        None => evaluate(local, inputs, on_news),
    }
}

fn engine_work(
    local: &LocalWork,
    inputs: &Inputs,
    on_news: impl Fn(WorkNews),
) -> Result<Option<TrainingOutcome>, WorkError> {
    match inputs.plan.work {
        Work::Training => train(local, inputs, on_news),
        Work::Evaluation => evaluate(local, inputs, on_news),
    }
}
