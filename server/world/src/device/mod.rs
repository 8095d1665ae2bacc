//! Models of virtual clients' devices.
//!
//! A [`Device`] has no mutable state. Its answers are a function of the model, the seed, the client, the time and the
//! assignment, so they do not depend on the order of the calls. Time is virtual. Time 0 is midnight in the middle of
//! the population's time zones.

mod availability;
mod compute;
mod dropout;
mod model;
mod network;
mod slow;
mod trace;
mod virtual_device;

pub use availability::{Always, Availability, Fraction, Sinusoid, Window};
pub use compute::{Compute, HalfNormal, LogNormal};
pub use dropout::{Dropout, Fate};
pub use model::DeviceModel;
pub use network::{Direction, NETWORK_CLASSES_MAX, Network, NetworkClass};
pub use slow::SlowClients;
pub use trace::{TRACE_BYTES_MAX, TRACE_ROWS_MAX, Trace, TraceError};
pub use virtual_device::Device;

/// The maximum number of seconds that a training or a transfer takes: a hundred years. The limit is needed because the
/// tail of a log-normal distribution is unbounded.
pub const SECONDS_MAX: f64 = 3.2e9;

/// The purposes of random streams. They are part of every stream, so the meaning of these numbers must never change.
mod purpose {
    pub const SPEED: u64 = 1;
    pub const ROUND: u64 = 2;
    pub const LINK: u64 = 3;
    pub const ZONE: u64 = 4;
    pub const SESSION: u64 = 5;
    pub const FATE: u64 = 6;
    pub const SLOW: u64 = 7;
}

#[cfg(test)]
mod tests;
