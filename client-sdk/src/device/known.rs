use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Device, DeviceMemory, DeviceStore};
use crate::Host;

/// The devices of this machine as a client knows them. Copies share what they learn.
#[derive(Clone)]
pub struct Devices {
    pub(super) wanted: Device,
    pub(super) host: Host,
    pub(super) store: Option<DeviceStore>,
    pub(super) known: Arc<Mutex<Known>>,
}

/// What is known by now: the memory, the adapters, which are looked for once until one fails, and the device that was
/// opened, which stays open from one training to the next.
#[derive(Default)]
pub(super) struct Known {
    pub(super) memory: DeviceMemory,
    #[cfg(feature = "gpu")]
    pub(super) adapters: Option<Vec<folkmoot_engine::Adapter>>,
    #[cfg(feature = "gpu")]
    pub(super) gpu: Option<folkmoot_engine::Gpu>,
}

impl Devices {
    /// Begins without knowledge, and forgets all when it is dropped.
    pub fn new(wanted: Device, host: Host) -> Self {
        Self { wanted, host, store: None, known: Arc::default() }
    }

    /// Begins with what an earlier run has left in this file, and keeps it up to date.
    pub(crate) fn with_store(wanted: Device, host: Host, store: DeviceStore) -> Self {
        let known = Known { memory: store.load(), ..Known::default() };
        Self { wanted, host, store: Some(store), known: Arc::new(Mutex::new(known)) }
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Devices").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}
