use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, standard_normal, uniform},
    setting::Check,
};

const HOUR: f64 = 3_600_000.0;
const DAY: i64 = 86_400_000;
/// A window begins at most so many hours before or after its habit.
const HOURS_OFF_MAX: f64 = 6.0;
/// A window's length in hours, at least and at most.
const HOURS_LONG: (f64, f64) = (0.05, 24.0);

/// When a device offers itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Availability {
    /// Day and night.
    Always(Always),
    /// On and off, without a rhythm.
    Fraction(Fraction),
    /// On and off, more often at night.
    Sinusoid(Sinusoid),
    /// Once a day, at about the same time.
    Window(Window),
}

impl Default for Availability {
    fn default() -> Self {
        Availability::Always(Always {})
    }
}

/// Devices are always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Always {}

/// In each stretch of time a device is there with one probability, independently of the stretch before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fraction {
    /// The probability.
    pub share: f64,
    /// Minutes of a stretch.
    pub session_minutes: f64,
}

impl Default for Fraction {
    fn default() -> Self {
        Self { share: 0.5, session_minutes: 30.0 }
    }
}

/// As [`Fraction`], with a probability of mean + amplitude·cos(2π(h − peak)/24) at the hour h of the device's own
/// time zone.
///
/// By default four times as many devices are there at two in the night as at two in the afternoon: the swing that
/// Bonawitz et al. 2019, "Towards federated learning at scale: system design", section 9, report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sinusoid {
    /// The mean probability over a day.
    pub mean_share: f64,
    /// How far it swings.
    pub amplitude: f64,
    /// The hour at which it is highest, from 0 to 24.
    pub peak_hour: f64,
    /// Minutes of a stretch.
    pub session_minutes: f64,
    /// Over how many hours the devices' time zones are spread, from 0 to 24.
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

/// Once a day a device is there for some hours: when it is plugged in overnight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// The hour at which windows begin, in the device's own time zone, from 0 to 24.
    pub start_hour: f64,
    /// The deviation of the hour among devices; each has its habit.
    pub start_spread_hours: f64,
    /// The deviation from one day to another at one device.
    pub day_spread_hours: f64,
    /// The median of the hours that a window lasts.
    pub length_hours: f64,
    /// The deviation of the logarithm of the length.
    pub length_spread: f64,
    /// The probability that there is no window on a day.
    pub skip_probability: f64,
    /// Over how many hours the devices' time zones are spread, from 0 to 24.
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

/// Whether a device is there, and until when (milliseconds) the answer holds at least.
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
    /// Milliseconds of its clock ahead of the population's.
    zone: i64,
    /// Milliseconds by which its stretches, or hours by which its windows, differ from other devices'.
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

    /// Draws one device's time zone and habit.
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
    /// Says whether the device is there at `at`, in milliseconds.
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

    /// Draws for the stretch around `at` with the probability at its middle.
    fn stretch(&self, at: i64, minutes: f64, probability: impl Fn(i64) -> f64) -> Presence {
        let length = ((minutes * 60_000.0) as i64).max(1);
        let offset = (self.habit * length as f64) as i64;
        let number = at.saturating_add(offset).div_euclid(length);
        let start = number.saturating_mul(length).saturating_sub(offset);
        let drawn = uniform(&mut Stream::new(self.seed, &[purpose::SESSION, self.client, number as u64]));
        let is_there = drawn <= probability(start.saturating_add(length / 2));
        Presence { is_there, until: start.saturating_add(length).max(at.saturating_add(1)) }
    }

    /// Looks at the windows of the days around `local`.
    fn windows(&self, local: i64, law: &Window) -> Presence {
        let today = local.div_euclid(DAY);
        // A window may begin 6 hours late and last 24: the day before yesterday's can reach into today.
        let windows: Vec<(i64, i64)> = (-2..=1).filter_map(|day| self.window(today + day, law)).collect();
        let end =
            windows.iter().filter(|(start, end)| (*start..*end).contains(&local)).map(|(_, end)| *end).max();
        let next = windows.iter().map(|(start, _)| *start).filter(|start| *start > local).min();
        let midnight = (today + 1).saturating_mul(DAY);
        match end {
            Some(until) => Presence { is_there: true, until },
            // Tomorrow's window may begin 6 hours early, so nothing that is not seen here begins within the day.
            None => {
                Presence { is_there: false, until: next.unwrap_or(midnight).max(local.saturating_add(1)) }
            }
        }
    }

    /// The window of a day, in local milliseconds; `None` if there is none.
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
