use std::collections::VecDeque;

use folkmoot_protocol::{
    Timestamp,
    saturating::{to_length, to_whole},
};
use serde::{Deserialize, Serialize};

use super::RetryWindow;

/// The length of a slot in seconds. An hour is a whole number of slots.
pub(super) const SLOT_SECONDS: f64 = 10.0;
const SLOT_MILLISECONDS: u64 = 10_000;
/// The maximum number of slots ahead: slightly more than a day, the length of the longest window.
const SLOTS_MAX: u16 = 24 * 360 + 2;

/// The number of expected check-ins, by slot, starting with the current one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Calendar {
    /// The number of the first slot. Slot 0 begins with the year 1970.
    first: u64,
    slots: VecDeque<CheckIns>,
}

/// The check-ins of one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckIns {
    /// The number of check-ins that clients were asked to make in this slot.
    pub told: f64,
    /// The number of requested check-ins that are likely to take place, given the clients present at this time of day.
    pub expected: f64,
}

/// A slot, or the remaining part of the current one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub start: Timestamp,
    pub seconds: f64,
    pub check_ins: CheckIns,
}

impl Calendar {
    /// Removes past slots and calls `passed` for each, with its expected check-ins. After a gap longer than the
    /// longest window, the rest of the gap is skipped, because nothing was expected there.
    pub(super) fn advance(&mut self, now: Timestamp, mut passed: impl FnMut(Timestamp, f64)) {
        let current = now.0 / SLOT_MILLISECONDS;
        if self.first == 0 {
            self.first = current;
        }
        // If the clock goes backwards, no slot passes.
        for slot in (self.first..current).take(usize::from(SLOTS_MAX)) {
            let check_ins = self.slots.pop_front().unwrap_or_default();
            passed(Timestamp(slot * SLOT_MILLISECONDS), check_ins.expected);
        }
        self.first = self.first.max(current);
    }

    /// Adds one expected check-in, spread evenly over a window that starts from `now`. `presence` scales the
    /// expectation at each moment.
    pub(super) fn expect(
        &mut self,
        window: RetryWindow,
        now: Timestamp,
        presence: impl Fn(Timestamp) -> f64,
    ) {
        let origin = self.first * SLOT_MILLISECONDS;
        let place = |milliseconds| {
            let since = now.plus_milliseconds(milliseconds).0.saturating_sub(origin) as f64;
            (since / SLOT_MILLISECONDS as f64).min(f64::from(SLOTS_MAX - 1))
        };
        let (begin, end) = (place(window.milliseconds_min), place(window.milliseconds_max));
        let last = to_length(to_whole(end));
        if self.slots.len() <= last {
            self.slots.resize(last + 1, CheckIns::default());
        }
        for slot in to_length(to_whole(begin))..=last {
            let overlap = (end.min((slot + 1) as f64) - begin.max(slot as f64)).max(0.0);
            let part = if end > begin { overlap / (end - begin) } else { 1.0 };
            self.slots[slot].told += part;
            self.slots[slot].expected += part * presence(Timestamp(origin + slot as u64 * SLOT_MILLISECONDS));
        }
    }

    /// Returns the slots from `now` on. The current slot is scaled to its remaining part.
    pub(super) fn from(&self, now: Timestamp) -> impl Iterator<Item = Slot> {
        self.slots.iter().zip(self.first..).filter_map(move |(check_ins, slot)| {
            let start = slot * SLOT_MILLISECONDS;
            let end = start + SLOT_MILLISECONDS;
            let left = end.saturating_sub(now.0.max(start)) as f64 / SLOT_MILLISECONDS as f64;
            (left > 0.0).then_some(Slot {
                start: Timestamp(start),
                seconds: left * SLOT_SECONDS,
                check_ins: CheckIns { told: check_ins.told * left, expected: check_ins.expected * left },
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(calendar: &Calendar, now: u64) -> Vec<f64> {
        calendar.from(Timestamp(now)).map(|slot| slot.check_ins.told).collect()
    }

    #[test]
    fn a_client_is_spread_over_its_window() {
        let mut calendar = Calendar::default();
        calendar.advance(Timestamp(100_000), |_, _| {});
        // The window is from second 105 to second 125; the first slot starts at 100.
        let window = RetryWindow { milliseconds_min: 5_000, milliseconds_max: 25_000 };
        calendar.expect(window, Timestamp(100_000), |at| if at.0 < 120_000 { 1.0 } else { 0.5 });
        assert_eq!(slots(&calendar, 100_000), [0.25, 0.5, 0.25]);
        let expected: f64 = calendar.from(Timestamp(100_000)).map(|slot| slot.check_ins.expected).sum();
        assert_eq!(expected, 0.875);
        // Three quarters of the current slot have passed.
        assert_eq!(slots(&calendar, 117_500), [0.125, 0.25]);
        let mut passed = Vec::new();
        calendar.advance(Timestamp(121_000), |start, told| passed.push((start.0, told)));
        assert_eq!(passed, [(100_000, 0.25), (110_000, 0.5)]);
        calendar
            .expect(RetryWindow { milliseconds_min: 0, milliseconds_max: 0 }, Timestamp(121_000), |_| 1.0);
        assert_eq!(slots(&calendar, 120_000), [1.25]);
    }

    #[test]
    fn clocks_may_jump() {
        let mut calendar = Calendar::default();
        calendar.advance(Timestamp(100_000), |_, _| {});
        let window = RetryWindow { milliseconds_min: 0, milliseconds_max: u64::MAX };
        calendar.expect(window, Timestamp(100_000), |_| 1.0);
        assert_eq!(calendar.slots.len(), usize::from(SLOTS_MAX));
        calendar.advance(Timestamp(0), |_, _| panic!("nothing passes"));
        calendar.expect(window, Timestamp(0), |_| 1.0);
        let mut passed = 0;
        calendar.advance(Timestamp(i64::MAX as u64), |_, _| passed += 1);
        assert_eq!((passed, calendar.slots.len()), (SLOTS_MAX, 0));
        calendar.expect(window, Timestamp(u64::MAX), |_| 1.0);
        assert!(slots(&calendar, u64::MAX - 20_000).iter().sum::<f64>() <= 1.0);
    }
}
