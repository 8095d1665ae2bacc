use std::sync::{Arc, atomic::AtomicBool};

use folkmoot_engine::Examples;
use folkmoot_protocol::{Work, messages::Assignment};

use super::{FinishedWork, Inputs, WorkError, WorkNews, evaluate::evaluate, train::train};
use crate::{
    Consent, Devices, Host,
    storage::{BlobCache, WorkStore},
};

/// How often progress is told.
pub(super) const PROGRESS_MILLISECONDS: u64 = 100;

/// Everything that the work of an assignment needs; it runs on a thread of its own.
pub(crate) struct LocalWork {
    pub assignment: Assignment,
    pub examples: Examples,
    pub consent: Consent,
    pub blobs: BlobCache,
    pub work: WorkStore,
    pub devices: Devices,
    pub host: Host,
    /// Set from outside to end the work after the steps under way.
    pub stop: Arc<AtomicBool>,
}

/// Does what the plan asks for, to the end. Returns `None` if it was stopped.
///
/// # Errors
/// [`WorkError`] if the plan's device rules do not hold, if the blobs, the plan or the examples do not allow the work, or
/// if the loss is not finite.
pub(crate) fn work(local: &LocalWork, on_news: impl Fn(WorkNews)) -> Result<Option<FinishedWork>, WorkError> {
    let inputs = Inputs::load(&local.assignment, &local.blobs, local.host.now())?;
    // They held when the plan came; since then the app may have started again with other attributes.
    if !local.consent.rules_hold(&inputs.plan) {
        return Err(WorkError::declined());
    }
    let outcome = match inputs.plan.work {
        Work::Training => train(local, &inputs, on_news)?,
        Work::Evaluation => evaluate(local, &inputs, on_news)?,
    };
    Ok(outcome.map(|outcome| FinishedWork {
        assignment: local.assignment.clone(),
        plan: inputs.plan,
        outcome,
        held_example_count: local.examples.len() as u64,
    }))
}
