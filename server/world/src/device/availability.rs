use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, standard_normal, uniform},
    setting::Check,
};

const HOUR: f64 = 3_600_000.0;
const DAY: i64 = 86_400_000;
/// The maximum number of hours by which a window begins before or after its usual time.
const HOURS_OFF_MAX: f64 = 6.0;
/// The minimum and the maximum length of a window, in hours.
const HOURS_LONG: (f64, f64) = (0.05, 24.0);

/// The model of the times at which devices are available.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Availability {
    /// Always available.
    Always(Always),
    /// On and off at random, without a daily rhythm.
    Fraction(Fraction),
    /// On and off at random, more often on at one time of day.
    Sinusoid(Sinusoid),
    /// Available once a day, at about the same time.
    Window(Window),
}

impl Default for Availability {
    fn default() -> Self {
        Availability::Always(Always {})
    }
}

/// Devices are always available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Always {}

/// In each stretch of time, a device is available with the same probability, independently of the previous stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fraction {
    /// The probability of being available.
    pub share: f64,
    /// The length of a stretch, in minutes.
    pub session_minutes: f64,
}

impl Default for Fraction {
    fn default() -> Self {
        Self { share: 0.5, session_minutes: 30.0 }
    }
}

/// As [`Fraction`], but with the probability mean + amplitude·cos(2π(h − peak)/24), where h is the hour in the device's
/// own time zone.
///
/// By default, about four times as many devices are available at 2 a.m. as at 2 p.m. Bonawitz et al. 2019, "Towards
/// federated learning at scale: system design", section 9, report this swing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sinusoid {
    /// The mean probability over a day.
    pub mean_share: f64,
    /// The amplitude of the probability around its mean.
    pub amplitude: f64,
    /// The hour with the highest probability, from 0 to 24.
    pub peak_hour: f64,
    /// The length of a stretch, in minutes.
    pub session_minutes: f64,
    /// The number of hours over which the devices' time zones are spread, from 0 to 24.
    pub time_zone_spread_hours: f64,
}

impl Default for Sinusoid {
    fn default() -> Self {
        Self {
            mean_share: 0.25,
            amplitude: 0.15,
            peak_hour: 2.0,
            session_minutes: 30.0,
            time_zone_spread_hours: 4.0,
        }
    }
}

/// Once a day a device is available for some hours, for example while it charges overnight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// The hour at which windows begin, in the device's own time zone, from 0 to 24.
    pub start_hour: f64,
    /// The standard deviation of the start hour between devices, in hours. Each device keeps its own start hour.
    pub start_spread_hours: f64,
    /// The standard deviation of the start hour between the days of one device, in hours.
    pub day_spread_hours: f64,
    /// The median length of a window, in hours.
    pub length_hours: f64,
    /// The standard deviation of the natural logarithm of the length.
    pub length_spread: f64,
    /// The probability that there is no window on a day.
    pub skip_probability: f64,
    /// The number of hours over which the devices' time zones are spread, from 0 to 24.
    pub time_zone_spread_hours: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            start_hour: 22.0,
            start_spread_hours: 1.5,
            day_spread_hours: 0.5,
            length_hours: 7.0,
            length_spread: 0.3,
            skip_probability: 0.1,
            time_zone_spread_hours: 4.0,
        }
    }
}

/// Whether a device is available, and a time in milliseconds before which this does not change.
pub(super) struct Presence {
    pub(super) is_there: bool,
    pub(super) until: i64,
}

/// One device's availability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    availability: Availability,
    client: u64,
    seed: u64,
    /// The number of milliseconds by which the device's clock is ahead of the population's.
    zone: i64,
    /// The device's own offset: in stretches for [`Fraction`] and [`Sinusoid`], in hours for [`Window`].
    habit: f64,
}

impl Availability {
    pub(super) fn check(&self, check: &mut Check) {
        let mut hours = |field: &str, value: f64| {
            check.require(field, value, (0.0..=24.0).contains(&value), "from 0 to 24");
        };
        match self {
            Availability::Sinusoid(law) => {
                hours("availability.peak_hour", law.peak_hour);
                hours("availability.time_zone_spread_hours", law.time_zone_spread_hours);
            }
            Availability::Window(law) => {
                hours("availability.start_hour", law.start_hour);
                hours("availability.start_spread_hours", law.start_spread_hours);
                hours("availability.day_spread_hours", law.day_spread_hours);
                hours("availability.length_hours", law.length_hours);
                hours("availability.time_zone_spread_hours", law.time_zone_spread_hours);
            }
            Availability::Always(_) | Availability::Fraction(_) => {}
        }
        match self {
            Availability::Always(_) => {}
            Availability::Fraction(law) => {
                check.share("availability.share", law.share);
                check_minutes(check, law.session_minutes);
            }
            Availability::Sinusoid(law) => {
                check.share("availability.mean_share", law.mean_share);
                check.share("availability.amplitude", law.amplitude);
                check_minutes(check, law.session_minutes);
            }
            Availability::Window(law) => {
                check.spread("availability.length_spread", law.length_spread);
                check.share("availability.skip_probability", law.skip_probability);
            }
        }
    }

    /// Draws one device's time zone and offset.
    pub(super) fn schedule(&self, client: u64, seed: u64) -> Schedule {
        let mut rng = Stream::new(seed, &[purpose::ZONE, client]);
        let (spread, zone) = (self.time_zone_spread_hours(), uniform(&mut rng) - 0.5);
        let habit = match self {
            Availability::Always(_) => 0.0,
            Availability::Fraction(_) | Availability::Sinusoid(_) => uniform(&mut rng),
            Availability::Window(law) => law.start_spread_hours * standard_normal(&mut rng),
        };
        Schedule { availability: *self, client, seed, zone: (zone * spread * HOUR) as i64, habit }
    }

    fn time_zone_spread_hours(&self) -> f64 {
        match self {
            Availability::Always(_) | Availability::Fraction(_) => 0.0,
            Availability::Sinusoid(law) => law.time_zone_spread_hours,
            Availability::Window(law) => law.time_zone_spread_hours,
        }
    }
}

fn check_minutes(check: &mut Check, minutes: f64) {
    let fine = (1.0..=100_000.0).contains(&minutes);
    check.require("availability.session_minutes", minutes, fine, "from 1 to 100000");
}

impl Schedule {
    /// Returns whether the device is available at `at`, in milliseconds, and a time before which this does not change.
    pub(super) fn presence(&self, at: i64) -> Presence {
        let local = at.saturating_add(self.zone);
        match self.availability {
            Availability::Always(_) => Presence { is_there: true, until: i64::MAX },
            Availability::Fraction(law) => self.stretch(at, law.session_minutes, |_| law.share),
            Availability::Sinusoid(law) => self.stretch(at, law.session_minutes, |middle| {
                let hour = (middle.saturating_add(self.zone) as f64 / HOUR).rem_euclid(24.0);
                law.mean_share + law.amplitude * (TAU * (hour - law.peak_hour) / 24.0).cos()
            }),
            Availability::Window(law) => {
                let presence = self.windows(local, &law);
                Presence { until: presence.until.saturating_sub(self.zone), ..presence }
            }
        }
    }

    /// Draws whether the device is available in the stretch around `at`, with the probability at the middle of the
    /// stretch.
    fn stretch(&self, at: i64, minutes: f64, probability: impl Fn(i64) -> f64) -> Presence {
        let length = ((minutes * 60_000.0) as i64).max(1);
        let offset = (self.habit * length as f64) as i64;
        let number = at.saturating_add(offset).div_euclid(length);
        let start = number.saturating_mul(length).saturating_sub(offset);
        let drawn = uniform(&mut Stream::new(self.seed, &[purpose::SESSION, self.client, number as u64]));
        let is_there = drawn <= probability(start.saturating_add(length / 2));
        Presence { is_there, until: start.saturating_add(length).max(at.saturating_add(1)) }
    }

    /// Determines from the windows of the surrounding days whether the device is available at `local`.
    fn windows(&self, local: i64, law: &Window) -> Presence {
        let today = local.div_euclid(DAY);
        // A window may begin 6 hours late and last 24 hours, so the window of the day before yesterday can extend into
        // today.
        let windows: Vec<(i64, i64)> = (-2..=1).filter_map(|day| self.window(today + day, law)).collect();
        let end =
            windows.iter().filter(|(start, end)| (*start..*end).contains(&local)).map(|(_, end)| *end).max();
        let next = windows.iter().map(|(start, _)| *start).filter(|start| *start > local).min();
        let midnight = (today + 1).saturating_mul(DAY);
        match end {
            Some(until) => Presence { is_there: true, until },
            // Tomorrow's window may begin 6 hours early, but the list contains it. So every window that begins today is
            // in the list.
            None => {
                Presence { is_there: false, until: next.unwrap_or(midnight).max(local.saturating_add(1)) }
            }
        }
    }

    /// Returns the window of a day, in local milliseconds; `None` if the device skips the day.
    fn window(&self, day: i64, law: &Window) -> Option<(i64, i64)> {
        let mut rng = Stream::new(self.seed, &[purpose::SESSION, self.client, day as u64]);
        if uniform(&mut rng) <= law.skip_probability {
            return None;
        }
        let habit = (law.start_hour + self.habit).rem_euclid(24.0);
        let off = (law.day_spread_hours * standard_normal(&mut rng)).clamp(-HOURS_OFF_MAX, HOURS_OFF_MAX);
        let length = law.length_hours * (law.length_spread * standard_normal(&mut rng)).exp();
        let start = day.checked_mul(DAY)?.checked_add(((habit + off) * HOUR) as i64)?;
        Some((start, start.checked_add((length.clamp(HOURS_LONG.0, HOURS_LONG.1) * HOUR) as i64)?))
    }
}
