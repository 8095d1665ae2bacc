use std::time::Duration;

use folkmoot_edge::HttpLimits;
use folkmoot_protocol::limits::LONG_POLL_SECONDS_MAX;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Limits on incoming HTTP connections and requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// The largest number of open connections.
    pub connections_max: usize,
    /// The largest number of open connections from one IPv4 address or one IPv6 /64 network. Many phones can share
    /// one address.
    pub connections_per_address_max: usize,
    /// The time limit for receiving the head of a request, in seconds.
    pub head_seconds_max: u64,
    /// The longest time that a connection may be idle between requests, in seconds.
    pub idle_seconds_max: u64,
    /// The longest time for which a peer may accept no bytes of a response, in seconds.
    pub untaken_seconds_max: u64,
    /// The time limit for receiving a control message, in seconds.
    pub control_seconds_max: u64,
    /// The longest time for which an upload may send no bytes, in seconds.
    pub upload_idle_seconds_max: u64,
    /// The longest time that a check-in may wait, in seconds.
    pub long_poll_seconds_max: u64,
    /// The largest ONNX model in bytes.
    pub model_bytes_max: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        let limits = HttpLimits::default();
        Self {
            connections_max: limits.connections_max,
            connections_per_address_max: limits.connections_per_address_max,
            head_seconds_max: limits.head_timeout.as_secs(),
            idle_seconds_max: limits.idle_timeout.as_secs(),
            untaken_seconds_max: limits.untaken_timeout.as_secs(),
            control_seconds_max: limits.control_timeout.as_secs(),
            upload_idle_seconds_max: limits.upload_idle_timeout.as_secs(),
            long_poll_seconds_max: limits.long_poll_max.as_secs(),
            model_bytes_max: limits.model_bytes_max,
        }
    }
}

/// The upper limit for every setting in seconds, except long polls.
const SECONDS_MAX: u64 = 3600;

impl LimitsConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("limits.connections_max", self.connections_max as u64, 1, 1_000_000)?;
        let per_address_max = self.connections_per_address_max as u64;
        within("limits.connections_per_address_max", per_address_max, 1, 1_000_000)?;
        within("limits.head_seconds_max", self.head_seconds_max, 1, SECONDS_MAX)?;
        within("limits.idle_seconds_max", self.idle_seconds_max, 1, SECONDS_MAX)?;
        within("limits.untaken_seconds_max", self.untaken_seconds_max, 1, SECONDS_MAX)?;
        within("limits.control_seconds_max", self.control_seconds_max, 1, SECONDS_MAX)?;
        within("limits.upload_idle_seconds_max", self.upload_idle_seconds_max, 1, SECONDS_MAX)?;
        within(
            "limits.long_poll_seconds_max",
            self.long_poll_seconds_max,
            0,
            u64::from(LONG_POLL_SECONDS_MAX),
        )?;
        within("limits.model_bytes_max", self.model_bytes_max as u64, 1, 16 << 30)
    }

    pub(super) fn http_limits(&self) -> HttpLimits {
        HttpLimits {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            head_timeout: Duration::from_secs(self.head_seconds_max),
            idle_timeout: Duration::from_secs(self.idle_seconds_max),
            untaken_timeout: Duration::from_secs(self.untaken_seconds_max),
            control_timeout: Duration::from_secs(self.control_seconds_max),
            upload_idle_timeout: Duration::from_secs(self.upload_idle_seconds_max),
            long_poll_max: Duration::from_secs(self.long_poll_seconds_max),
            model_bytes_max: self.model_bytes_max,
            ..HttpLimits::default()
        }
    }
}

/// Checks a number. `place` is its section and key.
pub(super) fn within(place: &str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let message = format!("it is {value}; it must be {min} to {max}");
    Err(ConfigError::Value { place: place.into(), message })
}
