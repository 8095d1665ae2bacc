use serde::{Deserialize, Serialize};

/// A time in milliseconds since 1970-01-01T00:00:00Z.
///
/// Code below the composition root receives the time as an argument, so that a test or a simulation can control it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the time `seconds` later, or the latest representable one.
    pub fn plus_seconds(self, seconds: u64) -> Self {
        self.plus_milliseconds(seconds.saturating_mul(1000))
    }

    /// Returns the time `milliseconds` later, or the latest representable one.
    pub fn plus_milliseconds(self, milliseconds: u64) -> Self {
        // SQL integers are signed, and a time must survive a round trip through them.
        Timestamp(self.0.saturating_add(milliseconds).min(i64::MAX as u64))
    }

    /// Returns the milliseconds from `earlier` to this time, or 0 if `earlier` is later.
    pub fn milliseconds_since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
