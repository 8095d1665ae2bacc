//! Models of virtual clients' devices.
//!
//! A [`Device`] has no mutable state. Its answers are a function of the model, the seed, the client, the time and the
//! assignment, so the order in which an event loop asks does not matter. Time is virtual; time 0 is a midnight in the
//! middle of the population's time zones.

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

/// The maximum number of seconds that a training or a transfer takes: a hundred years. The tail of a log-normal is
/// unbounded.
pub const SECONDS_MAX: f64 = 3.2e9;

/// The purposes of random streams. They are part of every stream, so these numbers must never change their meaning.
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
