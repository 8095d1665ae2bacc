use std::{collections::BTreeMap, sync::Arc};

use folkmoot_protocol::{
    BlobDigest, PopulationName, codec,
    messages::{Assignment, CheckInRequest},
};
use folkmoot_session::{Offer, RequestId, Session};
use folkmoot_storage::ClientRecord;
use folkmoot_training::OwnTensors;
use folkmoot_update::codec::Memory;

use super::{
    pool::Slot,
    training::{TrainedUpdate, Training},
};
use crate::{chance::Stream, device::Device};

/// The number of seconds that the coordinator may hold a check-in, as for a real client.
pub const WAIT_SECONDS: u32 = 30;
/// The number of blobs that a client caches.
const CACHE_MAX: usize = 40;

/// A virtual client.
pub struct VirtualClient {
    /// The client's enrolment; `None` before its first check-in.
    pub record: Option<ClientRecord>,
    /// The session in memory; `None` while the app is closed.
    pub session: Option<Box<Session>>,
    /// The session in the state in which the app was closed.
    pub stored: Option<Box<Session>>,
    /// The model of the client's device.
    pub device: Device,
    /// The client's random number generator.
    pub chance: Stream,
    /// The number of starts of the app. Events for an earlier start are dropped.
    pub incarnation: u32,
    /// The number of alarms that were set. Only the last one takes effect.
    pub alarm: u32,
    /// The current training, in progress or done; `None` if there is none.
    pub work: Option<Box<VirtualWork>>,
    /// The error feedback of the codec: the values that it left out of earlier updates. They are added to the next
    /// update.
    pub memory: Option<Memory>,
    /// The client's own tensors; empty until its first training, and if the task has none.
    pub own: OwnTensors,
    cached: Vec<BlobDigest>,
}

/// A training and its update.
pub struct VirtualWork {
    pub assignment: Assignment,
    pub slot: Arc<Slot>,
    pub update: Option<TrainedUpdate>,
    /// The data for ending the training early; `None` if the coordinator may not ask for a partial update.
    pub early: Option<EarlyEnd>,
}

/// The data for ending a training after fewer steps.
pub struct EarlyEnd {
    pub request_id: RequestId,
    pub training: Training,
    /// The time at which the training began, in virtual milliseconds.
    pub begun: u64,
    /// The duration of all steps of the training.
    pub milliseconds: u64,
}

impl EarlyEnd {
    /// Returns the training shortened to end with the step in progress at `now`, and the number of milliseconds until
    /// that step ends. Returns `None` if that step is the last one.
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
    /// Creates a client that has not started yet.
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
            own: OwnTensors::default(),
            cached: Vec::new(),
        }
    }

    /// Returns whether the client has cached this blob.
    pub fn has(&self, digest: BlobDigest) -> bool {
        self.cached.contains(&digest)
    }

    /// Caches a blob, and evicts the oldest if the cache is full.
    pub fn keep(&mut self, digest: BlobDigest) {
        if !self.has(digest) {
            if self.cached.len() == CACHE_MAX {
                self.cached.remove(0);
            }
            self.cached.push(digest);
        }
    }
}

/// Returns the offer of a client at check-in.
pub fn offer(example_count: u64, attributes: BTreeMap<String, String>) -> Offer {
    let request = CheckInRequest {
        sdk_version: env!("CARGO_PKG_VERSION").into(),
        example_count,
        attributes,
        codecs: codec::names(),
    };
    Offer { request, wait_seconds: WAIT_SECONDS }
}

/// Returns the key with which the client enrols in the population.
pub fn key_of(client: usize, population: &PopulationName) -> String {
    format!("{population}/{client}")
}
