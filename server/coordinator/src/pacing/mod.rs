//! When an idle client is to come back, so that cohorts fill in time and idle clients cost little.

mod calendar;
mod profile;
#[cfg(test)]
mod tests;
mod window;

use folkmoot_protocol::Timestamp;
use serde::{Deserialize, Serialize};

use calendar::Calendar;
use profile::HourlyProfile;
pub use window::{RetryLimits, RetryWindow};

/// How many more check-ins are asked for than clients are wanted: some come late, some not at all, and some are not
/// eligible.
pub const SAFETY_FACTOR: f64 = 1.3;
/// Seconds over which recent check-ins are weighted.
const RECENT_SECONDS: f64 = 600.0;
/// Check-ins that must be missed before much is concluded from it.
const RECENT_PRIOR: f64 = 10.0;
/// What a flood that the profile foresees may take of the wanted check-ins, at most: a flood that does not come must
/// not leave a cohort empty.
const FLOOD_SHARE_MAX: f64 = 0.5;

/// No deployment wants more; it keeps the arithmetic finite.
const DEMAND_PER_SECOND_MAX: f64 = 1e9;

/// Steers when idle clients check in (Bonawitz et al. 2019, "Towards federated learning at scale: system design",
/// section 2.3, pace steering).
///
/// It keeps a calendar of the check-ins that are expected from the windows it handed out. Added up, that is Little's
/// law with the rate and the time away of each moment instead of their means: the idle clients are the integral of
/// the rate at which clients left over the time for which they stay away, which also holds while rates change. A
/// client is sent to the first moment up to which fewer are expected than are wanted: soon, when cohorts lack
/// clients, and far into the future, when many are idle.
///
/// What is expected is corrected by what is seen: by the share of clients that came of late, and by a profile of the
/// 24 hours, which knows how many clients are about in each and how many come untold. So more are sent into the
/// night's trough, of whom a part will come, and fewer into the morning's flood. A newcomer, or a client whose device
/// was off, is not in the calendar; from its first window on it is.
///
/// A demand that jumps up can only be met by those who come back, so `milliseconds_max` bounds how long it waits.
///
/// Several coordinators over one population each keep their own: the caller divides the demand among them. It
/// serialises, so it can survive a restart ([`Pace::resume`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    calendar: Calendar,
    profile: HourlyProfile,
    /// Check-ins that came, weighted by exp(−age / [`RECENT_SECONDS`]).
    seen: f64,
    /// Check-ins that were expected, likewise.
    expected: f64,
    /// Seconds that were watched, likewise.
    watched: f64,
}

impl Pace {
    /// Makes one that knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that an idle client checks in: at a told time, or for the first time.
    ///
    /// The check-in by which a client comes back from an assignment is better not recorded: otherwise those who
    /// just trained count as supply, and fewer of the others are called.
    pub fn observe(&mut self, now: Timestamp) {
        self.advance(now);
        self.seen += 1.0;
        self.profile.see(now);
    }

    /// Returns the window for a client that is told to wait, and expects it back in it.
    ///
    /// `demand_per_second` are the clients that all tasks together want: those that their cohorts lack, over the
    /// seconds in which these are to fill. 0 is allowed.
    pub fn hand_out(&mut self, demand_per_second: f64, limits: RetryLimits, now: Timestamp) -> RetryWindow {
        self.advance(now);
        let window = self.retry_window(demand_per_second, limits, now);
        self.calendar.expect(window, now, |at| self.profile.presence(now, at));
        window
    }

    /// Returns the window that [`Pace::hand_out`] would, and records nothing.
    pub fn retry_window(&self, demand_per_second: f64, limits: RetryLimits, now: Timestamp) -> RetryWindow {
        let demand = if demand_per_second.is_nan() {
            0.0
        } else {
            demand_per_second.clamp(0.0, DEMAND_PER_SECOND_MAX)
        };
        let target = (demand * SAFETY_FACTOR).max(limits.arrivals_per_second_min);
        limits.window_around(self.first_gap(target, limits.wait_seconds_max(), now))
    }

    /// Returns the rate of check-ins of late, per second.
    pub fn rate_per_second(&self) -> f64 {
        if self.watched > 0.0 { self.seen / self.watched } else { 0.0 }
    }

    /// Estimates how many clients are idle: those that were told to come back, less the share that stayed away of
    /// late.
    pub fn idle(&self, now: Timestamp) -> f64 {
        let told: f64 = self.calendar.from(now).map(|slot| slot.check_ins.told).sum();
        told * self.returning_share()
    }

    /// Goes on after a restart or a pause: nobody could check in meanwhile, so nothing is held against those who
    /// did not. To be called once, before the first observation.
    pub fn resume(&mut self, now: Timestamp) {
        self.calendar.advance(now, |_, _| {});
        self.profile.forget_current_hour();
    }

    /// Moves to `now`, and learns from the time that has passed.
    fn advance(&mut self, now: Timestamp) {
        let Self { calendar, profile, seen, expected, watched } = self;
        let decay = libm::exp(-calendar::SLOT_SECONDS / RECENT_SECONDS);
        let mut has_passed = false;
        calendar.advance(now, |start, told| {
            *expected = (*expected + told) * decay;
            *seen *= decay;
            *watched = (*watched + calendar::SLOT_SECONDS) * decay;
            profile.pass(start, told, calendar::SLOT_SECONDS);
            has_passed = true;
        });
        if has_passed {
            let idle = self.idle(now);
            self.profile.count(now, idle);
        }
    }

    /// Returns the share of the expected clients that came of late: at most 1, since newcomers make no one return.
    fn returning_share(&self) -> f64 {
        ((self.seen + RECENT_PRIOR) / (self.expected + RECENT_PRIOR)).min(1.0)
    }

    /// Returns the seconds to the first moment up to which one more client fits under the target, at most
    /// `seconds_max`.
    fn first_gap(&self, target: f64, seconds_max: f64, now: Timestamp) -> f64 {
        // Where nobody is expected at all, a client fits after the time that one client takes at the target's rate.
        let share = self.returning_share();
        let (mut expected, mut at) = (1.0, 0.0);
        for slot in self.calendar.from(now) {
            if at >= seconds_max {
                return seconds_max;
            }
            let end = at + slot.seconds;
            let flood = self.profile.excess_per_second(slot.start).min(target * FLOOD_SHARE_MAX);
            let coming = slot.check_ins.expected * share + flood * slot.seconds;
            // Within the slot both grow evenly: expected + rate·(t − at) = target·t.
            let rate = coming / slot.seconds;
            let gap = (expected - rate * at) / (target - rate);
            if target * at >= expected {
                return at.min(seconds_max);
            }
            if target > rate && gap <= end {
                return gap.min(seconds_max);
            }
            expected += coming;
            at = end;
        }
        if target > 0.0 { (expected / target).max(at).min(seconds_max) } else { seconds_max }
    }
}
