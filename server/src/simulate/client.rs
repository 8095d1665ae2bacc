use std::{collections::BTreeMap, sync::Arc};

use folkmoot_protocol::{
    BlobDigest, PopulationName, codec,
    messages::{Assignment, CheckInRequest},
};
use folkmoot_session::{Offer, Session};
use folkmoot_simulation::{chance::Stream, device::Device};
use folkmoot_storage::ClientRecord;
use folkmoot_update::codec::Memory;

use super::pool::{Slot, TrainedUpdate};

/// How long a check-in waits at the coordinator, as that of a real client.
pub const WAIT_SECONDS: u32 = 30;
/// Blobs that a client keeps.
const CACHE_MAX: usize = 40;

/// A virtual client.
pub struct VirtualClient {
    /// As it is enrolled; none before its first check-in.
    pub record: Option<ClientRecord>,
    /// The session in memory; none while the app is closed.
    pub session: Option<Box<Session>>,
    /// The session as it was when the app was closed.
    pub stored: Option<Box<Session>>,
    /// What the device is like.
    pub device: Device,
    /// Its chance.
    pub chance: Stream,
    /// Counts its starts: what was meant for an earlier one is lost.
    pub incarnation: u32,
    /// Counts its alarms: only the last rings.
    pub alarm: u32,
    /// The training under way or done.
    pub work: Option<Box<VirtualWork>>,
    /// What its updates have left out.
    pub memory: Option<Memory>,
    cached: Vec<BlobDigest>,
}

/// A training and its update.
pub struct VirtualWork {
    pub assignment: Assignment,
    pub slot: Arc<Slot>,
    pub update: Option<TrainedUpdate>,
}

impl VirtualClient {
    /// Makes a client that has not come yet.
    pub fn new(device: Device, chance: Stream) -> Self {
        Self {
            record: None,
            session: None,
            stored: None,
            device,
            chance,
            incarnation: 0,
            alarm: 0,
            work: None,
            memory: None,
            cached: Vec::new(),
        }
    }

    /// Says whether the client has this blob.
    pub fn has(&self, digest: BlobDigest) -> bool {
        self.cached.contains(&digest)
    }

    /// Keeps a blob; the oldest goes.
    pub fn keep(&mut self, digest: BlobDigest) {
        if !self.has(digest) {
            if self.cached.len() == CACHE_MAX {
                self.cached.remove(0);
            }
            self.cached.push(digest);
        }
    }
}

/// What a client offers.
pub fn offer(example_count: u64, attributes: BTreeMap<String, String>) -> Offer {
    let request = CheckInRequest {
        sdk_version: env!("CARGO_PKG_VERSION").into(),
        example_count,
        attributes,
        codecs: codec::names(),
    };
    Offer { request, wait_seconds: WAIT_SECONDS }
}

/// The one population.
pub fn key_of(client: usize, population: &PopulationName) -> String {
    format!("{population}/{client}")
}
