use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use folkmoot_engine::Examples;
use folkmoot_protocol::messages::Assignment;

use super::{LocalTrainer, ModelStore};
use crate::{
    Budget, Consent, DeviceCare, Devices, Host,
    storage::{BlobCache, WorkStore},
};

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
