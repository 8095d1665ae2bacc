use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use folkmoot_engine::Examples;
use folkmoot_protocol::{Plan, messages::Assignment};
use folkmoot_work::{Consent, WorkError};

use super::{ExampleSource, LocalTrainer, ModelStore};
use crate::{
    Budget, DeviceCare, Devices, Host,
    storage::{BlobCache, WorkStore},
};

/// The inputs of an assignment's work, which runs on its own thread.
pub(crate) struct LocalWork {
    pub assignment: Assignment,
    pub examples: Arc<dyn ExampleSource>,
    /// The app's own loop, used instead of the engine.
    pub trainer: Option<Arc<dyn LocalTrainer>>,
    pub consent: Consent,
    pub care: DeviceCare,
    pub blobs: BlobCache,
    pub models: ModelStore,
    pub work: WorkStore,
    pub devices: Devices,
    pub budget: Budget,
    pub host: Host,
    /// Set by the runner to stop the work after the current step.
    pub stop: Arc<AtomicBool>,
    /// Set by the runner to end a training after the current step and send what it has.
    pub asked: Arc<AtomicBool>,
}

/// Returns the examples for a plan.
///
/// # Errors
/// The error of a declined assignment if the examples do not fit the plan's schema.
pub(crate) fn examples_for(source: &dyn ExampleSource, plan: &Plan) -> Result<Examples, WorkError> {
    let schema = plan.data_schema().ok().flatten();
    source.examples(schema.as_ref()).map_err(|reason| {
        // The reason may contain a field of the user's table, so it stays in the local log.
        tracing::warn!(%reason, "the client's data does not fit the task, so it declines the assignment");
        WorkError::declined()
    })
}

impl LocalWork {
    /// Waits while the device must not train. Returns the time waited.
    pub fn rest(&self, on_rest: impl FnOnce()) -> Duration {
        self.care.rest(&self.stop, || self.host.elapsed(), on_rest)
    }
}
