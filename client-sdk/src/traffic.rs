//! Limits on this device's traffic, per day and per second.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use folkmoot_protocol::{Plan, Timestamp, messages::Assignment};

use crate::{Host, day_count::DayCount, storage::BlobCache};

/// The lowest bandwidth limit that can be set, in bytes per second. Below it, the coordinator would treat an upload as
/// stalled.
pub const BYTES_PER_SECOND_MIN: u64 = 32 * 1024;

/// The number of bytes after which the count is stored. A killed process loses at most this much.
const SAVED_EVERY: u64 = 256 * 1024;
/// The maximum time whose unused bandwidth is kept: after a pause, the bytes of this time may pass at once.
const BURST: Duration = Duration::from_millis(100);

/// Limits on a client's traffic. The bodies of requests, blobs and updates count. Headers and the connection's own
/// overhead, a few percent more, do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficLimits {
    /// The limit per day (UTC) on the sum of both directions. An assignment that would exceed it is declined, and the
    /// client asks for the next one when the new day begins.
    pub bytes_per_day: Option<u64>,
    /// The limit per second, for each direction. At least [`BYTES_PER_SECOND_MIN`].
    pub bytes_per_second: Option<u64>,
}

/// Counts and throttles traffic.
#[derive(Debug)]
pub(crate) struct Traffic {
    limits: TrafficLimits,
    host: Host,
    bytes: DayCount,
    /// The time at which the connection is free again, for each direction.
    free_at: Mutex<[Duration; 2]>,
}

/// The direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the coordinator.
    Up,
    /// From the coordinator.
    Down,
}

impl Traffic {
    /// Creates a counter without limits.
    pub fn unlimited(host: Host) -> Self {
        Self::new(TrafficLimits::default(), host.clone(), DayCount::in_memory(host))
    }

    /// Creates a counter. If there is a daily limit, the counter continues from the amount stored in a file.
    pub fn open(limits: TrafficLimits, host: Host, path: PathBuf) -> Self {
        let bytes = match limits.bytes_per_day {
            Some(_) => DayCount::open(host.clone(), path, SAVED_EVERY),
            None => DayCount::in_memory(host.clone()),
        };
        Self::new(limits, host, bytes)
    }

    fn new(limits: TrafficLimits, host: Host, bytes: DayCount) -> Self {
        Self { limits, host, bytes, free_at: Mutex::default() }
    }

    /// Counts these bytes and waits until the next bytes may pass in this direction.
    pub async fn pass(&self, way: Way, bytes: u64) {
        let wait = self.count(way, bytes);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Counts these bytes and returns the time for which the next bytes have to wait.
    pub fn count(&self, way: Way, bytes: u64) -> Duration {
        self.bytes.add(bytes);
        let Some(rate) = self.limits.bytes_per_second else { return Duration::ZERO };
        let now = self.host.elapsed();
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let free_at = &mut free_at[way as usize];
        let begun = (*free_at).max(now.saturating_sub(BURST));
        *free_at = begun + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        free_at.saturating_sub(now)
    }

    /// Returns the number of bytes to pass on at a time: `most`, or less if the bandwidth is low. At least 1024.
    pub fn piece_bytes(&self, most: usize) -> usize {
        self.limits.bytes_per_second.map_or(most, |rate| most.min((rate / 8) as usize).max(1024))
    }

    /// Stores the count if it has changed since it was last stored.
    pub fn save(&self) {
        self.bytes.save();
    }

    /// Returns the time at which to ask for an assignment again, if the day's limit is used up.
    pub fn spent_until(&self) -> Option<Timestamp> {
        let limit = self.limits.bytes_per_day?;
        (self.bytes.is_spent() || self.bytes.amount() >= limit).then(|| self.bytes.tomorrow())
    }

    /// Returns whether the day's limit has room for this many bytes. Has no side effect.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.limits.bytes_per_day.is_none_or(|limit| self.bytes.amount().saturating_add(bytes) <= limit)
    }

    /// Returns whether the day's limit has room for this many bytes. If not, marks the day as used up, because the next
    /// assignment would need about as many bytes.
    pub fn allows(&self, bytes: u64) -> bool {
        if self.has_room_for(bytes) {
            return true;
        }
        let (used, limit) = (self.bytes.amount(), self.limits.bytes_per_day);
        tracing::info!(
            bytes,
            used,
            limit,
            "declined an assignment that would exceed the day's traffic limit"
        );
        self.bytes.spend();
        false
    }
}

/// Returns the number of bytes that an assignment still has to transfer once its plan has arrived: the missing parts of
/// model and weights, and the update.
pub(crate) fn bytes_needed(assignment: &Assignment, plan: &Plan, blobs: &BlobCache) -> u64 {
    let fetched = assignment.weights_to_fetch().iter().chain([&assignment.model]);
    let missing = fetched.filter(|artifact| !blobs.seems_to_hold(**artifact)).map(|artifact| artifact.bytes);
    missing.fold(plan.update_bytes(assignment.recipe.as_deref()), u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;
    use crate::day_count::DAY_MILLISECONDS;

    fn traffic(limits: TrafficLimits, clock: &Arc<AtomicU64>, path: PathBuf) -> Traffic {
        let clock = Arc::clone(clock);
        Traffic::open(limits, Host::new(move || Timestamp(clock.load(Ordering::Relaxed)), [1; 32]), path)
    }

    #[test]
    fn a_day_is_spent_and_the_next_one_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("traffic.json");
        let clock = Arc::new(AtomicU64::new(100 * DAY_MILLISECONDS + 5));
        let limits = TrafficLimits { bytes_per_day: Some(1000), bytes_per_second: None };
        let counted = traffic(limits, &clock, path.clone());
        assert_eq!(counted.count(Way::Down, 600), Duration::ZERO);
        assert!(counted.allows(400) && counted.spent_until().is_none());
        counted.save();
        // The count survives a restart.
        let counted = traffic(limits, &clock, path.clone());
        assert!(!counted.allows(401));
        let tomorrow = Some(Timestamp(101 * DAY_MILLISECONDS));
        assert_eq!(counted.spent_until(), tomorrow);
        let counted = traffic(limits, &clock, path.clone());
        assert_eq!(counted.spent_until(), tomorrow, "what was declined stays declined for the day");
        clock.fetch_add(DAY_MILLISECONDS, Ordering::Relaxed);
        assert!(counted.spent_until().is_none() && counted.allows(1000));
        counted.count(Way::Up, 1000);
        assert_eq!(counted.spent_until(), Some(Timestamp(102 * DAY_MILLISECONDS)));
        std::fs::write(&path, b"damaged").unwrap();
        assert_eq!(traffic(limits, &clock, path).spent_until(), None);
    }

    #[test]
    fn bytes_wait_for_those_before_them() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(1_000_000));
        let limits = TrafficLimits { bytes_per_day: None, bytes_per_second: Some(100_000) };
        let counted = traffic(limits, &clock, directory.path().join("traffic.json"));
        assert_eq!(counted.count(Way::Down, 10_000), Duration::ZERO, "a tenth of a second's at once");
        assert_eq!(counted.count(Way::Down, 50_000), Duration::from_millis(500));
        assert_eq!(counted.count(Way::Up, 20_000), Duration::from_millis(100), "each way by itself");
        clock.fetch_add(700, Ordering::Relaxed);
        assert_eq!(
            counted.count(Way::Down, 20_000),
            Duration::from_millis(100),
            "a pause is not made up for"
        );
        assert_eq!((counted.piece_bytes(65_536), counted.spent_until()), (12_500, None));
        assert!(!directory.path().join("traffic.json").exists());
    }
}
