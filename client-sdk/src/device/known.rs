use std::{
    fmt,
    sync::{Arc, Mutex},
};

use super::{Device, DeviceMemory, DeviceStore};
use crate::Host;

/// The graphics adapters of this machine, with the faults, tunings and measurements that the client has recorded for
/// them. Clones share these records.
#[derive(Clone)]
pub struct Devices {
    pub(super) wanted: Device,
    pub(super) host: Host,
    pub(super) store: Option<DeviceStore>,
    pub(super) known: Arc<Mutex<Known>>,
}

/// The stored records, the enumerated adapters and the open adapter. Adapters are enumerated once, and again after a
/// failure. The adapter stays open from one training to the next.
#[derive(Default)]
pub(super) struct Known {
    pub(super) memory: DeviceMemory,
    #[cfg(feature = "gpu")]
    pub(super) adapters: Option<Vec<folkmoot_engine::Adapter>>,
    #[cfg(feature = "gpu")]
    pub(super) gpu: Option<folkmoot_engine::Gpu>,
}

impl Devices {
    /// Starts without stored knowledge, and stores nothing.
    pub fn new(wanted: Device, host: Host) -> Self {
        Self { wanted, host, store: None, known: Arc::default() }
    }

    /// Starts with the knowledge that an earlier run stored in this file, and keeps the file up to date.
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
