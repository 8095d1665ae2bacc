use std::{collections::BTreeMap, sync::Arc};

use folkmoot_protocol::{
    BlobDigest, PopulationName, codec,
    messages::{Assignment, CheckInRequest},
};
use folkmoot_session::{Offer, RequestId, Session};
use folkmoot_storage::ClientRecord;
use folkmoot_update::codec::Memory;

use super::{
    pool::Slot,
    training::{TrainedUpdate, Training},
};
use crate::{chance::Stream, device::Device};

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
    /// How it is ended early, where the coordinator may ask for it.
    pub early: Option<EarlyEnd>,
}

/// What it takes to end a training after fewer steps.
pub struct EarlyEnd {
    pub request_id: RequestId,
    pub training: Training,
    /// When it began.
    pub begun: u64,
    /// How long all its steps take.
    pub milliseconds: u64,
}

impl EarlyEnd {
    /// Returns the training that ends with the step which is under way at `now`, and in how many milliseconds that is. None
    /// if it was the last one.
    pub fn at(self, now: u64) -> Option<(Training, u64)> {
        let steps = self.training.steps_max.max(1);
        let of_step = self.milliseconds as f64 / steps as f64;
        let elapsed = now.saturating_sub(self.begun);
        let done = (elapsed as f64 / of_step) as u64 + 1;
        let ends_in = ((done as f64 * of_step).ceil() as u64).saturating_sub(elapsed).max(1);
        (done < steps).then(|| (Training { steps_max: done, ..self.training }, ends_in))
    }
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
