use folkmoot_protocol::{Timestamp, saturating::to_length};
use serde::{Deserialize, Serialize};

/// The weight of the newest day against all earlier days.
const FORGETTING: f64 = 0.5;
/// The minimum number of observed seconds in an hour for the profile to learn from that hour.
const WATCHED_SECONDS_MIN: f64 = 600.0;
/// The lowest presence: even in a quiet hour, some client may come back.
const PRESENCE_MIN: f64 = 0.05;
const HOUR_MILLISECONDS: u64 = 3_600_000;
/// The time within an hour, in milliseconds, after which idle clients are counted. By then, the estimate no longer
/// includes clients that left at the start of the hour.
const COUNTED_FROM_MILLISECONDS: u64 = 40 * 60_000;

/// The daily profile of check-ins, by hour in UTC: how many clients are present, and how many come unscheduled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HourlyProfile {
    hours: [Hour; 24],
    /// The current hour, counted from 1970.
    current: u64,
    expected: f64,
    seen: f64,
    seconds: f64,
    idle_sum: f64,
    idle_samples: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hour {
    /// The number of idle clients that are present, if known. It is lowest at night.
    idle: Option<f64>,
    /// The number of check-ins per second beyond the expected ones. It is highest in the morning.
    excess_per_second: f64,
}

impl Default for HourlyProfile {
    fn default() -> Self {
        Self {
            hours: [Hour::default(); 24],
            current: 0,
            expected: 0.0,
            seen: 0.0,
            seconds: 0.0,
            idle_sum: 0.0,
            idle_samples: 0,
        }
    }
}

impl HourlyProfile {
    /// Records a check-in.
    pub(super) fn see(&mut self, now: Timestamp) {
        self.turn_to(now);
        self.seen += 1.0;
    }

    /// Records a slot that has passed, with its expected check-ins.
    pub(super) fn pass(&mut self, start: Timestamp, expected: f64, seconds: f64) {
        self.turn_to(start);
        self.expected += expected;
        self.seconds += seconds;
    }

    /// Records an estimate of the number of idle clients.
    pub(super) fn count(&mut self, now: Timestamp, idle: f64) {
        self.turn_to(now);
        if now.0 % HOUR_MILLISECONDS >= COUNTED_FROM_MILLISECONDS {
            self.idle_sum += idle;
            self.idle_samples += 1;
        }
    }

    /// Returns the share of the clients present at `now` that will be present at `at`. It is at most 1, and
    /// exactly 1 within the same hour or if an hour is unknown.
    pub(super) fn presence(&self, now: Timestamp, at: Timestamp) -> f64 {
        match (self.hour(now).idle, self.hour(at).idle) {
            (Some(now), Some(then)) if now > 0.0 => (then / now).clamp(PRESENCE_MIN, 1.0),
            _ => 1.0,
        }
    }

    /// Returns the unscheduled check-ins per second at a moment.
    pub(super) fn excess_per_second(&self, at: Timestamp) -> f64 {
        self.hour(at).excess_per_second
    }

    /// Discards the observations of the current hour.
    pub(super) fn forget_current_hour(&mut self) {
        *self = Self { hours: self.hours, current: self.current, ..Self::default() };
    }

    fn hour(&self, at: Timestamp) -> &Hour {
        &self.hours[hour_of_day(at.0 / HOUR_MILLISECONDS)]
    }

    /// Ends the current hour if another has begun, and learns from it.
    fn turn_to(&mut self, at: Timestamp) {
        let hour = at.0 / HOUR_MILLISECONDS;
        // If the clock goes backwards, the profile stays in the hour that it had reached.
        if hour <= self.current {
            return;
        }
        if self.seconds >= WATCHED_SECONDS_MIN {
            let learned = &mut self.hours[hour_of_day(self.current)];
            let excess = (self.seen - self.expected).max(0.0) / self.seconds;
            learned.excess_per_second += FORGETTING * (excess - learned.excess_per_second);
            if self.idle_samples > 0 {
                let idle = self.idle_sum / self.idle_samples as f64;
                let before = learned.idle.unwrap_or(idle);
                learned.idle = Some(before + FORGETTING * (idle - before));
            }
        }
        self.current = hour;
        self.forget_current_hour();
    }
}

fn hour_of_day(hour: u64) -> usize {
    to_length(hour % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(hour: u64) -> Timestamp {
        Timestamp(hour * HOUR_MILLISECONDS)
    }

    /// Simulates one hour with these expected and observed check-ins and this many idle clients.
    fn watch(profile: &mut HourlyProfile, number: u64, expected: f64, seen: u32, idle: f64) {
        profile.pass(hour(number), expected, 3600.0);
        (0..seen).for_each(|_| profile.see(hour(number)));
        profile.count(hour(number), 1e9);
        profile.count(Timestamp(hour(number + 1).0 - 1), idle);
        profile.see(hour(number + 1));
    }

    #[test]
    fn hours_are_learned_and_forgotten() {
        let mut profile = HourlyProfile::default();
        assert_eq!(profile.presence(hour(2), hour(3)), 1.0);
        watch(&mut profile, 2, 100.0, 100, 800.0);
        watch(&mut profile, 3, 100.0, 80, 200.0);
        assert_eq!(profile.presence(hour(2), hour(27)), 0.25);
        assert_eq!(profile.presence(hour(3), hour(26)), 1.0, "a presence is at most 1");
        assert_eq!(profile.presence(hour(3), hour(4)), 1.0, "hour 4 is unknown");
        assert_eq!(profile.excess_per_second(hour(3)), 0.0);
        // The idle clients are halfway from 200 to 600. The 3,600 check-ins beyond the expected ones are one a second,
        // and half of them are learned.
        watch(&mut profile, 27, 100.0, 3700, 600.0);
        assert_eq!(profile.presence(hour(2), hour(3)), 0.5);
        assert_eq!(profile.excess_per_second(hour(3)), 0.5);
    }

    #[test]
    fn an_hour_that_was_hardly_watched_teaches_nothing() {
        let mut profile = HourlyProfile::default();
        profile.pass(Timestamp(0), 1e6, 599.0);
        profile.see(hour(1));
        assert_eq!(profile.hours, HourlyProfile::default().hours);
        profile.see(Timestamp(0));
        assert_eq!((profile.current, profile.seen), (1, 2.0));
    }
}
