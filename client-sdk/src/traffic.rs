//! Counts and throttles this device's traffic.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use folkmoot_protocol::{
    Plan, Timestamp,
    messages::{Artifact, Assignment},
};
use folkmoot_work::{Budget, DayBytes, Throttle, TrafficLimits, Way, bytes_needed, may_prefetch};

use crate::{
    Host,
    storage::{BlobCache, DayFile},
};

/// The traffic of a client, with its clock and its file.
#[derive(Debug)]
pub(crate) struct Traffic {
    limits: TrafficLimits,
    host: Host,
    /// Locked while the file is written, so that an older count never replaces a newer one.
    day: Mutex<DayBytes>,
    file: DayFile,
    throttle: Mutex<Option<Throttle>>,
}

impl Traffic {
    /// Creates a counter without limits.
    pub fn unlimited(host: Host) -> Self {
        Self::new(TrafficLimits::default(), host, DayFile::nowhere())
    }

    /// Creates a counter. If there is a daily limit, the counter continues from the amount stored in a file.
    pub fn open(limits: TrafficLimits, host: Host, path: PathBuf) -> Self {
        let file = if limits.bytes_per_day.is_some() { DayFile::at(path) } else { DayFile::nowhere() };
        Self::new(limits, host, file)
    }

    fn new(limits: TrafficLimits, host: Host, file: DayFile) -> Self {
        let day = Mutex::new(DayBytes::load(&limits, &file.read()));
        Self { limits, host, day, file, throttle: Mutex::new(Throttle::of(&limits)) }
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
        let mut day = self.day();
        self.file.write(day.count(bytes, self.host.now()));
        drop(day);
        let throttle = &mut *self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        throttle.as_mut().map_or(Duration::ZERO, |throttle| throttle.pass(way, bytes, self.host.elapsed()))
    }

    /// Returns the number of bytes to pass on at a time: `most`, or less if the bandwidth is low.
    pub fn piece_bytes(&self, most: usize) -> usize {
        Throttle::of(&self.limits).map_or(most, |throttle| throttle.piece_bytes(most))
    }

    /// Stores the count if it has changed since it was last stored.
    pub fn save(&self) {
        let mut day = self.day();
        self.file.write(day.save(self.host.now()));
    }

    /// Returns the time at which to ask for an assignment again, if the day's limit is used up.
    pub fn spent_until(&self) -> Option<Timestamp> {
        self.day().spent_until(self.host.now())
    }

    /// Returns whether to fetch an offered blob before an assignment needs it.
    pub fn may_prefetch(&self, artifact: Artifact, budget: &Budget) -> bool {
        may_prefetch(artifact, budget, &self.day(), self.host.now())
    }

    /// Returns whether the day's limit has room for the bytes that an assignment still has to transfer. If not, marks
    /// the day as used up.
    pub fn allows(&self, assignment: &Assignment, plan: &Plan, blobs: &BlobCache) -> bool {
        let bytes = bytes_needed(assignment, plan, |artifact| blobs.seems_to_hold(artifact));
        let (mut day, now) = (self.day(), self.host.now());
        if day.has_room_for(bytes, now) {
            return true;
        }
        let (used, limit) = (day.used(now), self.limits.bytes_per_day);
        tracing::info!(
            bytes,
            used,
            limit,
            "declined an assignment that would exceed the day's traffic limit"
        );
        self.file.write(Some(day.spend(now)));
        false
    }

    fn day(&self) -> MutexGuard<'_, DayBytes> {
        self.day.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use folkmoot_work::{DAY_MILLISECONDS, samples};

    use super::*;

    #[test]
    fn the_count_of_a_day_survives_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("traffic.json");
        let blobs = BlobCache::open(&directory.path().join("blobs"), 1 << 20).unwrap();
        let clock = Arc::new(AtomicU64::new(100 * DAY_MILLISECONDS + 5));
        let update = samples::plan().update_bytes(None);
        let limits = TrafficLimits { bytes_per_day: Some(600 + update), bytes_per_second: None };
        let open = || {
            let clock = Arc::clone(&clock);
            let host = Host::new(move || Timestamp(clock.load(Ordering::Relaxed)), [1; 32]);
            Traffic::open(limits, host, path.clone())
        };
        let allows = |counted: &Traffic| counted.allows(&samples::assignment(), &samples::plan(), &blobs);
        let counted = open();
        assert_eq!(counted.count(Way::Down, 600), Duration::ZERO);
        assert!(allows(&counted) && counted.spent_until().is_none());
        counted.count(Way::Up, 1);
        counted.save();
        let counted = open();
        assert!(!allows(&counted));
        let tomorrow = Some(Timestamp(101 * DAY_MILLISECONDS));
        assert_eq!(counted.spent_until(), tomorrow);
        let counted = open();
        assert_eq!(counted.spent_until(), tomorrow, "what was declined stays declined for the day");
        clock.fetch_add(DAY_MILLISECONDS, Ordering::Relaxed);
        assert!(counted.spent_until().is_none() && allows(&counted));
        std::fs::write(&path, b"damaged").unwrap();
        assert_eq!(open().spent_until(), None);
    }

    #[test]
    fn without_a_limit_nothing_is_stored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("traffic.json");
        let limits = TrafficLimits { bytes_per_day: None, bytes_per_second: Some(100_000) };
        let counted = Traffic::open(limits, Host::new(|| Timestamp(1_000_000), [1; 32]), path.clone());
        assert_eq!(counted.count(Way::Down, 1 << 20), Duration::from_secs_f64((1 << 20) as f64 / 1e5 - 0.1));
        counted.save();
        assert_eq!(counted.piece_bytes(65_536), 12_500);
        assert!(!path.exists());
    }
}
