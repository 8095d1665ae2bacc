use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::day_of;

/// An amount used on the current day (UTC).
///
/// Some functions return bytes. The host then stores them in place of the earlier bytes, and loads them after a
/// restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayCount {
    used: Used,
    unsaved: u64,
    saved_every: u64,
}

/// The stored form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Used {
    /// The number of days since 1970-01-01 (UTC).
    day: u64,
    amount: u64,
    /// True if the day is treated as used up before its limit is reached, because an assignment needed more than was
    /// left.
    #[serde(default)]
    is_spent: bool,
}

impl DayCount {
    /// Creates a count of 0. It returns bytes to store each time `saved_every` was added; a killed process loses at most
    /// that.
    pub fn new(saved_every: u64) -> Self {
        Self { used: Used::default(), unsaved: 0, saved_every }
    }

    /// Continues from stored bytes. Unreadable bytes count as 0.
    pub fn load(stored: &[u8], saved_every: u64) -> Self {
        Self { used: serde_json::from_slice(stored).unwrap_or_default(), ..Self::new(saved_every) }
    }

    /// Adds to the day's amount. Returns the bytes to store if enough was added since the last time.
    #[must_use]
    pub fn add(&mut self, amount: u64, now: Timestamp) -> Option<Vec<u8>> {
        self.begin_day(now);
        self.used.amount = self.used.amount.saturating_add(amount);
        self.unsaved = self.unsaved.saturating_add(amount);
        (self.unsaved >= self.saved_every).then(|| self.stored())
    }

    /// Returns the day's amount.
    pub fn amount(&self, now: Timestamp) -> u64 {
        self.today(now).amount
    }

    /// Returns whether the day was marked as used up.
    pub fn is_spent(&self, now: Timestamp) -> bool {
        self.today(now).is_spent
    }

    /// Marks the day as used up, even if the limit is not reached. Returns the bytes to store.
    #[must_use]
    pub fn spend(&mut self, now: Timestamp) -> Vec<u8> {
        self.begin_day(now);
        self.used.is_spent = true;
        self.stored()
    }

    /// Returns the bytes to store if the amount has changed since the last time.
    #[must_use]
    pub fn save(&mut self, now: Timestamp) -> Option<Vec<u8>> {
        self.begin_day(now);
        (self.unsaved > 0).then(|| self.stored())
    }

    fn begin_day(&mut self, now: Timestamp) {
        self.used = self.today(now);
    }

    fn today(&self, now: Timestamp) -> Used {
        let day = day_of(now);
        if self.used.day == day { self.used } else { Used { day, ..Used::default() } }
    }

    fn stored(&mut self) -> Vec<u8> {
        self.unsaved = 0;
        serde_json::to_vec(&self.used).expect("numbers are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DAY_MILLISECONDS;

    const DAY: Timestamp = Timestamp(3 * DAY_MILLISECONDS + 7);
    const NEXT: Timestamp = Timestamp(4 * DAY_MILLISECONDS);

    #[test]
    fn a_new_day_begins_at_nothing() {
        let mut count = DayCount::new(u64::MAX);
        assert_eq!(count.add(5, DAY), None);
        drop(count.spend(DAY));
        assert_eq!((count.amount(DAY), count.is_spent(DAY)), (5, true));
        assert_eq!((count.amount(NEXT), count.is_spent(NEXT)), (0, false));
        assert_eq!(count.add(1, NEXT), None);
        assert_eq!(count.amount(NEXT), 1);
        assert_eq!(count.amount(DAY), 0, "the clock went back, and nothing is known of that day any more");
    }

    #[test]
    fn it_is_stored_when_enough_was_added_and_when_it_is_asked_for() {
        let mut count = DayCount::new(10);
        assert_eq!(count.save(DAY), None);
        assert_eq!(count.add(9, DAY), None);
        let stored = count.add(1, DAY).unwrap();
        assert_eq!(stored, br#"{"day":3,"amount":10,"is_spent":false}"#);
        assert_eq!((count.save(DAY), count.add(1, DAY)), (None, None));
        assert!(count.save(DAY).is_some() && count.save(DAY).is_none());
        assert_eq!(DayCount::load(&stored, 10).amount(DAY), 10);
        assert_eq!(DayCount::load(br#"{"day":3,"amount":4}"#, 10).amount(DAY), 4);
        assert_eq!(DayCount::load(b"damaged", 10), DayCount::new(10));
    }
}
