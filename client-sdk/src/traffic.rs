//! How much this device sends and fetches, in a day and in a second.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use folkmoot_protocol::{Plan, Timestamp, messages::Assignment};

use crate::{Host, day_count::DayCount, storage::BlobCache};

/// The least bandwidth that can be asked for, in bytes a second: below it the coordinator would take an upload for one that
/// hangs.
pub const BYTES_PER_SECOND_MIN: u64 = 32 * 1024;

/// Bytes after which the count is stored: a process that is killed forgets no more.
const SAVED_EVERY: u64 = 256 * 1024;
/// Of a longer pause, nothing is made up for.
const BURST: Duration = Duration::from_millis(100);

/// How much a client may send and fetch. What counts are the bodies of requests, blobs and updates; headers and the
/// connection's own bytes, some percent more, do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficLimits {
    /// In a day (UTC), both ways together. An assignment that would pass it is declined, and the next one is asked for when
    /// the day is over.
    pub bytes_per_day: Option<u64>,
    /// In a second, each way, at least [`BYTES_PER_SECOND_MIN`].
    pub bytes_per_second: Option<u64>,
}

/// Counts, and holds back.
#[derive(Debug)]
pub(crate) struct Traffic {
    limits: TrafficLimits,
    host: Host,
    bytes: DayCount,
    /// Since when the connection is free again, each way.
    free_at: Mutex<[Duration; 2]>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the coordinator.
    Up,
    /// From it.
    Down,
}

impl Traffic {
    /// Counts against nothing.
    pub fn unlimited(host: Host) -> Self {
        Self::new(TrafficLimits::default(), host.clone(), DayCount::in_memory(host))
    }

    /// Goes on with what was counted in a file, if there is a limit to count against.
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

    /// Counts bytes that pass, and waits until the next may.
    pub async fn pass(&self, way: Way, bytes: u64) {
        let wait = self.count(way, bytes);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Counts bytes that pass, and returns how long the next have to wait.
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

    /// Returns the bytes that are handed over at a time, at most so many: less where the bandwidth is small.
    pub fn piece_bytes(&self, most: usize) -> usize {
        self.limits.bytes_per_second.map_or(most, |rate| most.min((rate / 8) as usize).max(1024))
    }

    /// Stores the count, if anything was counted since.
    pub fn save(&self) {
        self.bytes.save();
    }

    /// Returns when to ask for an assignment again, if nothing is left of the day.
    pub fn spent_until(&self) -> Option<Timestamp> {
        let limit = self.limits.bytes_per_day?;
        (self.bytes.is_spent() || self.bytes.amount() >= limit).then(|| self.bytes.tomorrow())
    }

    /// Says whether so many bytes more are within the day's; nothing follows from it.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        self.limits.bytes_per_day.is_none_or(|limit| self.bytes.amount().saturating_add(bytes) <= limit)
    }

    /// Says whether so many bytes more are within the day's. If not, the day is over: what is asked for tomorrow is much the same.
    pub fn allows(&self, bytes: u64) -> bool {
        if self.has_room_for(bytes) {
            return true;
        }
        let (used, limit) = (self.bytes.amount(), self.limits.bytes_per_day);
        tracing::info!(bytes, used, limit, "an assignment would pass the bytes of the day");
        self.bytes.spend();
        false
    }
}

/// Returns the bytes that an assignment needs when its plan is here: what is missing of model and weights, and the update.
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
        // A restart goes on with it.
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
