use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::day_count::DayCount;

/// Training time per day: the limit and the time used.
#[derive(Debug)]
pub(crate) struct DayTime {
    milliseconds_max: u64,
    /// The time used, in milliseconds.
    trained: DayCount,
    /// Time added but not yet counted because it is below a millisecond. Many steps are that short.
    rest: Mutex<Duration>,
}

impl DayTime {
    pub fn new(seconds_max: u64, trained: DayCount) -> Self {
        Self { milliseconds_max: seconds_max.saturating_mul(1000), trained, rest: Mutex::default() }
    }

    /// Adds to the day's training time. If this reaches the limit, stores the time at once, so that a later client also
    /// knows that the limit is reached.
    pub fn add(&self, time: Duration) {
        let was_over = self.is_over();
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = rest.saturating_add(time);
        let milliseconds = u64::try_from(sum.as_millis()).unwrap_or(u64::MAX);
        *rest = sum.saturating_sub(Duration::from_millis(milliseconds));
        self.trained.add(milliseconds);
        if !was_over && self.is_over() {
            self.trained.save();
        }
    }

    pub fn is_over(&self) -> bool {
        self.trained.amount() >= self.milliseconds_max
    }

    pub fn day(&self) -> &DayCount {
        &self.trained
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::Timestamp;

    use super::*;
    use crate::Host;

    #[test]
    fn a_day_that_is_over_is_so_for_the_next_client() {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            let host = Host::new(|| Timestamp(0), [0; 32]);
            DayTime::new(2, DayCount::open(host, directory.path().join("time.json"), u64::MAX))
        };
        let time = open();
        time.add(Duration::from_millis(1999));
        assert!(!open().is_over());
        time.add(Duration::from_millis(1));
        assert!(open().is_over());
    }

    #[test]
    fn steps_shorter_than_a_millisecond_are_counted() {
        let host = Host::new(|| Timestamp(0), [0; 32]);
        let time = DayTime::new(1, DayCount::in_memory(host));
        for _ in 0..2499 {
            time.add(Duration::from_micros(400));
        }
        assert!(!time.is_over());
        time.add(Duration::from_micros(400));
        assert!(time.is_over());
    }
}
