use folkmoot_protocol::{Timestamp, limits::CLOCK_SKEW_MILLISECONDS_MAX};
use folkmoot_service::http::EARLIEST;

use crate::finding::Finding;
use folkmoot_terminal::moment;

pub const CHECK: &str = "clock";

/// The difference up to which clocks agree, in milliseconds. Disks and databases have a coarser clock.
const AGREE_MILLISECONDS: u64 = 100;

/// A time by another clock, and the times of this machine's clock before and after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub before: Timestamp,
    pub other: Timestamp,
    pub after: Timestamp,
}

impl ClockReading {
    /// Returns the milliseconds by which the other clock is ahead; negative if it is behind, 0 if it can be the same.
    fn ahead(self) -> i64 {
        let difference = |later: Timestamp, earlier: Timestamp| {
            i64::try_from(later.milliseconds_since(earlier)).unwrap_or(i64::MAX)
        };
        difference(self.other, self.after) - difference(self.before, self.other)
    }
}

/// Compares the system clock with the clocks of the data folder's disk and of PostgreSQL.
pub fn check(now: Timestamp, disk: Option<ClockReading>, database: Option<ClockReading>) -> Finding {
    if now < EARLIEST {
        let message = format!("The clock shows {}, a time before 2023.", moment(now));
        return Finding::failed(CHECK, message, "set the machine's clock, for example by NTP");
    }
    let readings = [("the data folder's disk", disk), ("PostgreSQL", database)];
    let known: Vec<(&str, i64)> =
        readings.into_iter().filter_map(|(name, reading)| Some((name, reading?.ahead()))).collect();
    let is_far = |ahead: i64| ahead.unsigned_abs() > CLOCK_SKEW_MILLISECONDS_MAX;
    let far: Vec<String> = known
        .iter()
        .filter(|(_, ahead)| is_far(*ahead))
        .map(|(name, ahead)| described(name, *ahead))
        .collect();
    if !far.is_empty() {
        let limit = CLOCK_SKEW_MILLISECONDS_MAX / 1000;
        let message = format!(
            "The clock shows {}, but {}. Signatures tolerate {limit} s.",
            moment(now),
            far.join(", and ")
        );
        return Finding::warning(
            CHECK,
            message,
            "synchronise the clocks of these machines, for example by NTP",
        );
    }
    let agreeing: Vec<String> = known.iter().map(|(name, ahead)| described(name, *ahead)).collect();
    match agreeing.as_slice() {
        [] => Finding::ok(
            CHECK,
            format!("The clock shows {}. There is no other clock to compare.", moment(now)),
        ),
        agreeing => {
            Finding::ok(CHECK, format!("The clock shows {}, and {}.", moment(now), agreeing.join(", and ")))
        }
    }
}

fn described(name: &str, ahead: i64) -> String {
    let seconds = ahead.unsigned_abs() as f64 / 1000.0;
    match ahead {
        _ if ahead.unsigned_abs() <= AGREE_MILLISECONDS => format!("the clock of {name} agrees"),
        0.. => format!("the clock of {name} is {seconds:.1} s ahead"),
        _ => format!("the clock of {name} is {seconds:.1} s behind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    const NOW: Timestamp = Timestamp(1_769_862_600_000);

    fn reading(ahead: i64) -> Option<ClockReading> {
        let after = NOW.plus_milliseconds(10);
        let from = if ahead > 0 { after } else { NOW };
        Some(ClockReading { before: NOW, other: Timestamp(from.0.saturating_add_signed(ahead)), after })
    }

    #[test]
    fn a_clock_is_compared_in_both_directions() {
        for ahead in [0, 1, -1, 400_000, -400_000] {
            assert_eq!(reading(ahead).unwrap().ahead(), ahead);
        }
        let between = ClockReading { other: NOW.plus_milliseconds(5), ..reading(0).unwrap() };
        assert_eq!(between.ahead(), 0);
    }

    #[test]
    fn a_difference_beyond_the_tolerance_of_signatures_is_a_warning() {
        let most = CLOCK_SKEW_MILLISECONDS_MAX.cast_signed();
        let verdict = |disk, database| check(NOW, disk, database).verdict;
        assert_eq!(verdict(None, None), Verdict::Ok);
        assert_eq!(verdict(reading(most), reading(-most)), Verdict::Ok);
        assert_eq!(verdict(reading(most + 1), reading(0)), Verdict::Warning);
        assert_eq!(verdict(None, reading(-most - 1)), Verdict::Warning);
        let far = check(NOW, reading(0), reading(-400_000));
        assert!(far.message.contains("PostgreSQL is 400.0 s behind. Signatures tolerate 300 s."), "{far:?}");
        let near = check(NOW, reading(-100), reading(101)).message;
        assert!(near.ends_with("disk agrees, and the clock of PostgreSQL is 0.1 s ahead."), "{near}");
        assert_eq!(check(Timestamp(0), None, None).verdict, Verdict::Failed);
    }
}
