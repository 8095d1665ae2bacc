use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Time is an argument everywhere below the composition root, so that a test or a simulation can own it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the moment `seconds` later, or the last one that can be told.
    pub fn plus_seconds(self, seconds: u64) -> Self {
        self.plus_milliseconds(seconds.saturating_mul(1000))
    }

    /// Returns the moment `milliseconds` later, or the last one that can be told.
    pub fn plus_milliseconds(self, milliseconds: u64) -> Self {
        // SQL integers are signed: a moment must survive a round trip through them.
        Timestamp(self.0.saturating_add(milliseconds).min(i64::MAX as u64))
    }

    /// Returns the milliseconds from `earlier` to this moment, or 0 when the clock went backwards.
    pub fn milliseconds_since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
