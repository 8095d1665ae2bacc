use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use folkmoot_engine::Examples;
use folkmoot_protocol::messages::Assignment;
use folkmoot_work::Consent;

use super::{LocalTrainer, ModelStore};
use crate::{
    Budget, DeviceCare, Devices, Host,
    storage::{BlobCache, WorkStore},
};

/// The inputs of an assignment's work, which runs on its own thread.
pub(crate) struct LocalWork {
    pub assignment: Assignment,
    pub examples: Examples,
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

impl LocalWork {
    /// Waits while the device must not train. Returns the time waited.
    pub fn rest(&self, on_rest: impl FnOnce()) -> Duration {
        self.care.rest(&self.stop, || self.host.elapsed(), on_rest)
    }
}
