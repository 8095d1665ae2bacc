use std::time::Duration;

use folkmoot_protocol::Timestamp;

use super::DayCount;

/// Milliseconds of training after which the day's total is stored.
const SAVED_EVERY_MILLISECONDS: u64 = 5000;

/// Training time per day: the limit and the time used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayTime {
    milliseconds_max: u64,
    /// The time used, in milliseconds.
    trained: DayCount,
    /// Time added but not yet counted because it is below a millisecond. Many steps are that short.
    remainder: Duration,
}

impl DayTime {
    /// Limits training to this many seconds a day, and continues from stored bytes, which may be empty.
    pub fn load(seconds_max: u64, stored: &[u8]) -> Self {
        Self {
            milliseconds_max: seconds_max.saturating_mul(1000),
            trained: DayCount::load(stored, SAVED_EVERY_MILLISECONDS),
            remainder: Duration::ZERO,
        }
    }

    /// Adds to the day's training time. Returns bytes to store if enough time was added since it last returned bytes,
    /// or if the limit is reached now. So even a client that restarts knows that the limit is reached.
    #[must_use]
    pub fn add(&mut self, time: Duration, now: Timestamp) -> Option<Vec<u8>> {
        let was_over = self.is_over(now);
        let sum = self.remainder.saturating_add(time);
        let milliseconds = u64::try_from(sum.as_millis()).unwrap_or(u64::MAX);
        self.remainder = sum.saturating_sub(Duration::from_millis(milliseconds));
        let stored = self.trained.add(milliseconds, now);
        if stored.is_none() && !was_over && self.is_over(now) { self.trained.save(now) } else { stored }
    }

    /// Returns whether the day's time is used up.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.trained.amount(now) >= self.milliseconds_max
    }

    /// Returns the bytes to store if the time has changed since the last time.
    #[must_use]
    pub fn save(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.trained.save(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(0);

    #[test]
    fn a_day_that_is_over_is_so_for_the_next_client() {
        let mut time = DayTime::load(2, b"");
        assert_eq!(time.add(Duration::from_millis(1999), NOW), None);
        assert!(!time.is_over(NOW));
        let stored = time.add(Duration::from_millis(1), NOW).expect("the day is over");
        assert!(time.is_over(NOW) && DayTime::load(2, &stored).is_over(NOW));
    }

    #[test]
    fn steps_shorter_than_a_millisecond_are_counted() {
        let mut time = DayTime::load(1, b"");
        for _ in 0..2499 {
            assert_eq!(time.add(Duration::from_micros(400), NOW), None);
        }
        assert!(!time.is_over(NOW));
        assert!(time.add(Duration::from_micros(400), NOW).is_some());
        assert!(time.is_over(NOW));
    }
}
