//! Amounts that are limited per day (UTC).

mod count;
mod time;

use std::time::Duration;

use folkmoot_protocol::{Timestamp, messages::CheckInResponse};

pub use count::DayCount;
pub use time::DayTime;

/// The number of milliseconds in a day.
pub const DAY_MILLISECONDS: u64 = 24 * 60 * 60 * 1000;
/// The interval, in milliseconds, over which clients spread their next check-ins after the day's limit was used up.
/// Otherwise they would all check in at midnight UTC.
const NEW_DAY_MILLISECONDS: u64 = 30 * 60 * 1000;

/// Returns the number of days since 1970-01-01.
fn day_of(now: Timestamp) -> u64 {
    now.0 / DAY_MILLISECONDS
}

/// Returns the time at which the next day begins.
pub fn tomorrow(now: Timestamp) -> Timestamp {
    Timestamp((day_of(now) + 1).saturating_mul(DAY_MILLISECONDS))
}

/// Returns the time left in this day, at least 1 ms.
pub fn until_tomorrow(now: Timestamp) -> Duration {
    Duration::from_millis(tomorrow(now).milliseconds_since(now).max(1))
}

/// Returns the answer with which a coordinator would make the client check in at `until`, the start of the next day.
pub fn wait_for_day(until: Timestamp, now: Timestamp) -> CheckInResponse {
    let retry_after_milliseconds_min = until.milliseconds_since(now);
    CheckInResponse::Wait {
        retry_after_milliseconds_min,
        retry_after_milliseconds_max: retry_after_milliseconds_min + NEW_DAY_MILLISECONDS,
        offered: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight() {
        let noon = Timestamp(100 * DAY_MILLISECONDS + DAY_MILLISECONDS / 2);
        let midnight = Timestamp(101 * DAY_MILLISECONDS);
        assert_eq!(tomorrow(noon), midnight);
        assert_eq!(until_tomorrow(noon), Duration::from_millis(DAY_MILLISECONDS / 2));
        assert_eq!(tomorrow(midnight), Timestamp(102 * DAY_MILLISECONDS));
        assert_eq!(until_tomorrow(Timestamp(u64::MAX)), Duration::from_millis(1));
    }

    #[test]
    fn check_ins_after_midnight_are_spread() {
        let (until, now) = (Timestamp(DAY_MILLISECONDS), Timestamp(DAY_MILLISECONDS - 5));
        let CheckInResponse::Wait { retry_after_milliseconds_min, retry_after_milliseconds_max, offered } =
            wait_for_day(until, now)
        else {
            panic!("it waits");
        };
        assert_eq!((retry_after_milliseconds_min, retry_after_milliseconds_max), (5, 1_800_005));
        assert_eq!(offered, None);
    }
}
