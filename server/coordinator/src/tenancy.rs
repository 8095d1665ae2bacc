//! Organisations that share a coordinator: their quotas and their usage.

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// The number of milliseconds in a day.
const DAY: u64 = 86_400_000;
/// The quotas of an organisation. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotas {
    /// The largest number of clients that are not revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients_max: Option<u64>,
    /// The largest number of tasks that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_max: Option<u64>,
    /// The largest size of all models and versions, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes_max: Option<u64>,
    /// The bytes that clients may send and receive on one day (UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_day_max: Option<u64>,
    /// The rate of clients' requests, for each process of the coordinator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_second_max: Option<u32>,
}

/// The usage by an organisation's clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests of enrolled clients, and enrolments with a valid token.
    pub requests: u64,
    /// The bytes of the bodies that clients sent.
    pub received_bytes: u64,
    /// The bytes of the blobs that clients fetched.
    pub sent_bytes: u64,
    /// Accepted updates.
    pub updates: u64,
}

impl Usage {
    /// Returns the bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.received_bytes.saturating_add(self.sent_bytes)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.updates = self.updates.saturating_add(other.updates);
    }
}

/// A day in UTC, as the number of days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub u64);

impl From<Timestamp> for Day {
    fn from(now: Timestamp) -> Self {
        Self(now.0 / DAY)
    }
}

impl Day {
    /// Returns the first moment of the day.
    pub fn start(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(DAY))
    }

    /// Returns the time from `now` to the end of this day, in milliseconds.
    pub fn milliseconds_left(self, now: Timestamp) -> u64 {
        Day(self.0 + 1).start().milliseconds_since(now)
    }
}

/// The requests that a client or an organisation may still send: a token bucket (Turner 1986, the leaky bucket as a
/// meter).
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    /// The missing tokens; 0 is a full bucket.
    missing: f64,
    /// The time of the last request.
    at: Timestamp,
}

impl Bucket {
    /// Takes a token from a bucket that holds `burst` and gains `per_second`. Returns whether there was one.
    pub fn take(&mut self, burst: f64, per_second: f64, now: Timestamp) -> bool {
        let has_one = self.has_one(burst, per_second, now);
        self.missing = self.missing_at(per_second, now) + f64::from(u8::from(has_one));
        self.at = now;
        has_one
    }

    /// Returns whether [`Bucket::take`] would find a token.
    pub fn has_one(&self, burst: f64, per_second: f64, now: Timestamp) -> bool {
        self.missing_at(per_second, now) + 1.0 <= burst
    }

    fn missing_at(&self, per_second: f64, now: Timestamp) -> f64 {
        let seconds = now.milliseconds_since(self.at) as f64 / 1000.0;
        (self.missing - seconds * per_second).max(0.0)
    }

    /// Returns the time of the last request.
    pub fn at(&self) -> Timestamp {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_a_burst_and_fills_at_its_rate() {
        let start = Timestamp(1_000_000);
        for (rate, burst) in [(0, 20), (1, 20), (10, 20), (100, 200)] {
            let mut bucket = Bucket::default();
            let mut take = |now| {
                let has_one = bucket.has_one(burst.into(), rate.into(), now);
                assert_eq!(bucket.take(burst.into(), rate.into(), now), has_one);
                has_one
            };
            let mut taken = |now| (0..1000).filter(|_| take(now)).count();
            assert_eq!(taken(start), burst as usize, "{rate}");
            assert_eq!(taken(start), 0, "{rate}");
            assert_eq!(taken(start.plus_seconds(1)), rate.min(burst) as usize, "{rate}");
            assert_eq!(taken(start), 0, "a clock that goes back gives nothing");
        }
    }

    #[test]
    fn a_day_is_in_utc() {
        let late = Timestamp(DAY * 20_000 - 1);
        assert_eq!((Day::from(late), Day::from(late).milliseconds_left(late)), (Day(19_999), 1));
        assert_eq!(Day::from(Timestamp(DAY * 20_000)), Day(20_000));
        assert_eq!(Day(u64::MAX - 1).milliseconds_left(Timestamp(0)), u64::MAX);
    }
}
