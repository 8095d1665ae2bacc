//! What a virtual client's device is like.
//!
//! A [`Device`] holds no state that changes: what it answers is a function of the model, the seed, the client, the
//! moment and the assignment, so the order in which an event loop asks does not matter. Time is virtual; moment 0
//! is a midnight in the middle of the population's time zones.

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

/// Seconds that anything may take, at most: a hundred years. A log-normal tail knows no bounds.
pub const SECONDS_MAX: f64 = 3.2e9;

/// What chance is for; a part of every stream's purpose, so that these numbers may never change their meaning.
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
