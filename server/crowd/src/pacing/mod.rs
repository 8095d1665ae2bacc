//! Pace steering: choosing when idle clients check in again, so that cohorts fill in time at little cost.

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

/// The ratio of requested check-ins to wanted clients. It makes up for clients that come late, never come or are not
/// eligible.
pub const SAFETY_FACTOR: f64 = 1.3;
/// The time constant, in seconds, of the moving average of recent check-ins.
const RECENT_SECONDS: f64 = 600.0;
/// A number of prior check-ins, which damps the return share while there are few observations.
const RECENT_PRIOR: f64 = 10.0;
/// The largest share of the wanted check-ins that a predicted flood may supply. If the flood does not come, a cohort
/// must not stay empty.
const FLOOD_SHARE_MAX: f64 = 0.5;

/// An upper limit that keeps the arithmetic finite; no deployment needs more.
const DEMAND_PER_SECOND_MAX: f64 = 1e9;

/// Steers when idle clients check in (Bonawitz et al. 2019, "Towards federated learning at scale: system design",
/// section 2.3, pace steering).
///
/// **Calendar.** `Pace` keeps a calendar of the check-ins that it expects from the windows it handed out. The sum
/// over the calendar estimates the number of idle clients. This is Little's law with current values instead of
/// means, so it also holds while rates change. A client is sent to the first moment up to which fewer check-ins
/// are expected than wanted. That is soon when cohorts lack clients, and far in the future when many clients are
/// idle.
///
/// **Corrections.** Expectations are corrected by two observations: the share of clients that recently came back, and a
/// profile of the 24 hours of the day. The profile records how many clients are present in each hour, and how many come
/// unscheduled. So the pace schedules more clients for the night, when only some of them come, and fewer for the
/// morning peak. A new client, or one whose device was off, enters the calendar with its first window.
///
/// **Sudden demand.** Only clients that come back can meet a sudden rise in demand, so `milliseconds_max` limits
/// how long that takes.
///
/// **Several coordinators.** Coordinators of one population keep separate paces; the caller divides the demand
/// among them. A pace can be serialised to survive a restart ([`Pace::resume`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    calendar: Calendar,
    profile: HourlyProfile,
    /// The number of observed check-ins, each weighted by exp(−age / [`RECENT_SECONDS`]).
    seen: f64,
    /// The number of expected check-ins, with the same weights.
    expected: f64,
    /// The number of observed seconds, with the same weights.
    watched: f64,
}

impl Pace {
    /// Returns a pace without observations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the check-in of an idle client, scheduled or new.
    ///
    /// Do not record the check-in of a client that returns from an assignment. It would be mistaken for new supply, and
    /// fewer other clients would be called.
    pub fn observe(&mut self, now: Timestamp) {
        self.advance(now);
        self.seen += 1.0;
        self.profile.see(now);
    }

    /// Returns the window for a client that must wait, and adds its return to the calendar.
    ///
    /// `demand_per_second` is the number of clients that the cohorts of all tasks lack, divided by the seconds in
    /// which they should fill. It may be 0.
    pub fn hand_out(&mut self, demand_per_second: f64, limits: RetryLimits, now: Timestamp) -> RetryWindow {
        self.advance(now);
        let window = self.retry_window(demand_per_second, limits, now);
        self.calendar.expect(window, now, |at| self.profile.presence(now, at));
        window
    }

    /// Returns the window that [`Pace::hand_out`] would return, without recording anything.
    pub fn retry_window(&self, demand_per_second: f64, limits: RetryLimits, now: Timestamp) -> RetryWindow {
        let demand = if demand_per_second.is_nan() {
            0.0
        } else {
            demand_per_second.clamp(0.0, DEMAND_PER_SECOND_MAX)
        };
        let target = (demand * SAFETY_FACTOR).max(limits.arrivals_per_second_min);
        limits.window_around(self.first_gap(target, limits.wait_seconds_max(), now))
    }

    /// Returns the recent rate of check-ins, per second.
    pub fn rate_per_second(&self) -> f64 {
        if self.watched > 0.0 { self.seen / self.watched } else { 0.0 }
    }

    /// Estimates the number of idle clients: the number of requested check-ins, times the share of clients that
    /// recently came back.
    pub fn idle(&self, now: Timestamp) -> f64 {
        let told: f64 = self.calendar.from(now).map(|slot| slot.check_ins.told).sum();
        told * self.returning_share()
    }

    /// Resumes after a restart or a pause. Clients could not check in meanwhile, so their absence is not counted.
    /// Call it once, before the first observation.
    pub fn resume(&mut self, now: Timestamp) {
        self.calendar.advance(now, |_, _| {});
        self.profile.forget_current_hour();
    }

    /// Advances to `now` and learns from the elapsed time.
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

    /// Returns the share of expected clients that recently came. It is at most 1: new clients do not raise the
    /// share of returning ones.
    fn returning_share(&self) -> f64 {
        ((self.seen + RECENT_PRIOR) / (self.expected + RECENT_PRIOR)).min(1.0)
    }

    /// Returns the seconds until the first moment up to which one more client fits below the target rate, at most
    /// `seconds_max`.
    fn first_gap(&self, target: f64, seconds_max: f64, now: Timestamp) -> f64 {
        // The count includes the new client: with an empty calendar, the result is 1 / target.
        let share = self.returning_share();
        let (mut expected, mut at) = (1.0, 0.0);
        for slot in self.calendar.from(now) {
            if at >= seconds_max {
                return seconds_max;
            }
            let end = at + slot.seconds;
            let flood = self.profile.excess_per_second(slot.start).min(target * FLOOD_SHARE_MAX);
            let coming = slot.check_ins.expected * share + flood * slot.seconds;
            // Within a slot, the expected and the wanted check-ins both grow linearly. They are equal at the time t
            // with expected + rate·(t − at) = target·t.
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
