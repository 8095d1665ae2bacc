use folkmoot_protocol::Timestamp;

use crate::{
    TrafficLimits,
    day::{DayCount, tomorrow},
};

/// The number of bytes after which the count is stored. A killed process loses at most this much.
const SAVED_EVERY: u64 = 256 * 1024;

/// The day's traffic and its limit.
///
/// As with [`DayCount`], the host stores the bytes that a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayBytes {
    bytes_max: Option<u64>,
    bytes: DayCount,
}

impl DayBytes {
    /// Continues from stored bytes, which may be empty.
    pub fn load(limits: &TrafficLimits, stored: &[u8]) -> Self {
        Self { bytes_max: limits.bytes_per_day, bytes: DayCount::load(stored, SAVED_EVERY) }
    }

    /// Counts bytes of either direction.
    #[must_use]
    pub fn count(&mut self, bytes: u64, now: Timestamp) -> Option<Vec<u8>> {
        self.bytes.add(bytes, now)
    }

    /// Returns the bytes to store if the count has changed since the last time.
    #[must_use]
    pub fn save(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.bytes.save(now)
    }

    /// Returns the day's traffic so far, in bytes.
    pub fn used(&self, now: Timestamp) -> u64 {
        self.bytes.amount(now)
    }

    /// Returns the time at which to ask for an assignment again, if the day's limit is used up.
    pub fn spent_until(&self, now: Timestamp) -> Option<Timestamp> {
        let limit = self.bytes_max?;
        (self.bytes.is_spent(now) || self.used(now) >= limit).then(|| tomorrow(now))
    }

    /// Returns whether the day's limit has room for this many bytes.
    pub fn has_room_for(&self, bytes: u64, now: Timestamp) -> bool {
        self.bytes_max.is_none_or(|limit| self.used(now).saturating_add(bytes) <= limit)
    }

    /// Marks the day as used up, because the next assignment would need about as many bytes as the last one, which did
    /// not fit. Returns the bytes to store.
    #[must_use]
    pub fn spend(&mut self, now: Timestamp) -> Vec<u8> {
        self.bytes.spend(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DAY_MILLISECONDS;

    #[test]
    fn a_day_is_spent_and_the_next_one_is_new() {
        let limits = TrafficLimits { bytes_per_day: Some(1000), bytes_per_second: None };
        let now = Timestamp(100 * DAY_MILLISECONDS + 5);
        let mut day = DayBytes::load(&limits, b"");
        assert_eq!(day.count(600, now), None);
        assert!(day.has_room_for(400, now) && !day.has_room_for(401, now));
        assert_eq!(day.spent_until(now), None);
        let mut day = DayBytes::load(&limits, &day.save(now).expect("it has changed"));
        assert_eq!(day.used(now), 600);
        let stored = day.spend(now);
        let (today, tomorrow) = (Timestamp(101 * DAY_MILLISECONDS), Timestamp(102 * DAY_MILLISECONDS));
        assert_eq!(day.spent_until(now), Some(today));
        assert_eq!(DayBytes::load(&limits, &stored).spent_until(now), Some(today));
        assert_eq!(day.spent_until(today), None);
        assert!(day.has_room_for(1000, today));
        assert_eq!(day.count(1000, today), None);
        assert_eq!(day.spent_until(today), Some(tomorrow));
    }

    #[test]
    fn without_a_limit_there_is_always_room() {
        let mut day = DayBytes::load(&TrafficLimits::default(), b"");
        assert!(day.count(u64::MAX, Timestamp(0)).is_some(), "and it is counted");
        assert!(day.has_room_for(u64::MAX, Timestamp(0)));
        assert_eq!(day.spent_until(Timestamp(0)), None);
    }
}
