use std::sync::Arc;

use folkmoot_protocol::Timestamp;

use super::{
    DeviceModel, Direction, Dropout, Fate, SECONDS_MAX, Trace,
    availability::{Presence, Schedule},
    compute::Speed,
    network::Link,
    trace::{Session, TracedDevice},
};

/// The maximum number of changes between available and not available that a search examines.
const SEARCH_STEPS_MAX: usize = 100_000;

/// One virtual client's device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    client: u64,
    seed: u64,
    slow_factor: f64,
    dropout: Dropout,
    memory_bytes_max: Option<u64>,
    behaviour: Behaviour,
}

#[derive(Clone, Debug, PartialEq)]
enum Behaviour {
    Drawn { speed: Speed, link: Link, schedule: Schedule },
    Traced(Arc<TracedDevice>),
}

impl Device {
    /// Creates the device of client number `client`. The model must be valid.
    pub fn of(model: &DeviceModel, client: usize, seed: u64) -> Self {
        let number = client as u64;
        let behaviour = Behaviour::Drawn {
            speed: model.compute.speed(number, seed),
            link: model.network.link(number, seed),
            schedule: model.availability.schedule(number, seed),
        };
        Self::with(behaviour, model, number, seed)
    }

    /// Creates the device of client number `client` from a trace. Client i gets device i of the trace; if there are
    /// more clients than devices, the devices repeat. After its end, the trace starts again. The model's dropout and
    /// slow clients still apply.
    pub fn traced(model: &DeviceModel, trace: &Trace, client: usize, seed: u64) -> Self {
        Self::with(Behaviour::Traced(trace.device(client)), model, client as u64, seed)
    }

    fn with(behaviour: Behaviour, model: &DeviceModel, client: u64, seed: u64) -> Self {
        let slow_factor = model.slow.factor_of(client, seed);
        let limits = &model.memory_bytes_max;
        let turn = usize::try_from(client).unwrap_or_default().checked_rem(limits.len());
        let memory_bytes_max = turn.map(|turn| limits[turn]);
        Self { client, seed, slow_factor, dropout: model.dropout, memory_bytes_max, behaviour }
    }

    /// Returns the limit on the memory of a training, in bytes.
    pub fn memory_bytes_max(&self) -> Option<u64> {
        self.memory_bytes_max
    }

    /// Returns the seconds that training takes.
    ///
    /// `example_count` is the number of examples, each counted once for every epoch. `assignment_seed` must differ
    /// between assignments. `at` is the time when training begins; it matters only for a trace.
    pub fn training_seconds(&self, at: Timestamp, example_count: u64, assignment_seed: u64) -> f64 {
        let seconds = match &self.behaviour {
            Behaviour::Drawn { speed, .. } => {
                speed.seconds(example_count, self.client, self.seed, assignment_seed)
            }
            Behaviour::Traced(traced) => example_count as f64 * traced.session(at).seconds_per_example,
        };
        (seconds * self.slow_factor).min(SECONDS_MAX)
    }

    /// Returns the seconds that a transfer takes if it begins at `at`.
    pub fn transfer_seconds(&self, at: Timestamp, bytes: u64, direction: Direction) -> f64 {
        let seconds = match &self.behaviour {
            Behaviour::Drawn { link, .. } => link.seconds(bytes, direction),
            Behaviour::Traced(traced) => {
                let Session { download_mbps, upload_mbps, latency_milliseconds, .. } = *traced.session(at);
                Link { class: 0, download_mbps, upload_mbps, latency_milliseconds }.seconds(bytes, direction)
            }
        };
        seconds.min(SECONDS_MAX)
    }

    /// Returns whether the device is available at `at`, to check in or to continue its assignment.
    pub fn is_available(&self, at: Timestamp) -> bool {
        self.presence(signed(at)).is_there
    }

    /// Returns the first time, `at` or later, at which the device is available. Returns `None` if the device does not
    /// become available within the next hundred thousand changes, for example because its share is 0.
    pub fn next_available(&self, at: Timestamp) -> Option<Timestamp> {
        self.search(at, true)
    }

    /// Returns the first time, `at` or later, at which the device is not available; `None` if it stays available for
    /// the next hundred thousand changes.
    pub fn available_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.search(at, false)
    }

    /// Returns the outcome of an assignment, assuming that the device stays available and no deadline passes.
    pub fn fate(&self, assignment_seed: u64) -> Fate {
        self.dropout.fate(self.client, self.seed, assignment_seed)
    }

    /// Returns the share of an assignment's work, above 0 and up to 1, that is done when the device vanishes or aborts.
    pub fn done_share(&self, assignment_seed: u64) -> f64 {
        Dropout::done_share(self.client, self.seed, assignment_seed)
    }

    /// Returns the index of the device's class in the model's network; `None` for a trace.
    pub fn network_class(&self) -> Option<usize> {
        match &self.behaviour {
            Behaviour::Drawn { link, .. } => Some(link.class),
            Behaviour::Traced(_) => None,
        }
    }

    /// Returns whether the device is deliberately slow.
    pub fn is_slow(&self) -> bool {
        self.slow_factor > 1.0
    }

    fn presence(&self, at: i64) -> Presence {
        match &self.behaviour {
            Behaviour::Drawn { schedule, .. } => schedule.presence(at),
            Behaviour::Traced(traced) => traced.presence(at),
        }
    }

    fn search(&self, at: Timestamp, is_there: bool) -> Option<Timestamp> {
        let mut moment = signed(at);
        for _ in 0..SEARCH_STEPS_MAX {
            let presence = self.presence(moment);
            if presence.is_there == is_there {
                return Some(Timestamp(moment.unsigned_abs()));
            }
            if presence.until == i64::MAX {
                return None;
            }
            moment = presence.until;
        }
        None
    }
}

/// Converts a time to a signed number. Times are below 2⁶³ ([`Timestamp::plus_milliseconds`]).
fn signed(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}
