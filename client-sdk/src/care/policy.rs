use std::fmt;

use super::{DeviceConditions, Thermal};

/// What has to hold of a device while it trains. The plan's own rules come on top of it.
///
/// A requirement does not hold where what it is about is not known. Charge and heat are limits: where they are not known
/// they do not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePolicy {
    /// Only while the battery is charging.
    pub requires_charging: bool,
    /// Only while bytes cost nothing.
    pub requires_unmetered: bool,
    /// Only while nobody is using the device.
    pub requires_idle: bool,
    /// Only with this charge at least, or while charging; 0 to 100.
    pub battery_percent_min: u8,
    /// Only while it is not hotter.
    pub thermal_max: Thermal,
    /// Seconds of a pause after which an assignment is given up: a cable that is soon plugged in again costs it nothing.
    pub give_up_after_seconds: u32,
}

/// It may be in use and on its battery down to 20 percent, a little warm, and on any link.
impl Default for DevicePolicy {
    fn default() -> Self {
        Self {
            requires_charging: false,
            requires_unmetered: false,
            requires_idle: false,
            battery_percent_min: 20,
            thermal_max: Thermal::Fair,
            give_up_after_seconds: 30,
        }
    }
}

/// Why a client does not train now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The app says so, in its words.
    App(String),
    /// It is not charging.
    Charging,
    /// The link costs the user something.
    Unmetered,
    /// Somebody is using the device.
    Idle,
    /// The charge is low.
    Battery,
    /// It is hot.
    Thermal,
    /// A rule of the plan about the device does not hold any more.
    Plan,
    /// It has trained as long as it may in a day.
    TrainingTime,
    /// It has trained as long as it may in a day without charging, and does not charge.
    BatteryTime,
}

/// The name, which does not change; the app's own words where it is the app's reason.
impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::App(words) => words,
            Self::Charging => "charging",
            Self::Unmetered => "unmetered",
            Self::Idle => "idle",
            Self::Battery => "battery",
            Self::Thermal => "thermal",
            Self::Plan => "plan",
            Self::TrainingTime => "training_time",
            Self::BatteryTime => "battery_time",
        })
    }
}

impl DevicePolicy {
    /// Says why the device is not to train under these conditions; the first reason in the order of the fields.
    pub fn reason_to_pause(&self, now: &DeviceConditions) -> Option<PauseReason> {
        let requirements = [
            (self.requires_charging, now.is_charging, PauseReason::Charging),
            (self.requires_unmetered, now.is_unmetered, PauseReason::Unmetered),
            (self.requires_idle, now.is_idle, PauseReason::Idle),
        ];
        for (is_required, holds, reason) in requirements {
            if is_required && holds != Some(true) {
                return Some(reason);
            }
        }
        let is_low = now.battery_percent.is_some_and(|percent| percent < self.battery_percent_min);
        if is_low && now.is_charging != Some(true) {
            return Some(PauseReason::Battery);
        }
        now.thermal.filter(|thermal| *thermal > self.thermal_max).map(|_| PauseReason::Thermal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(policy: DevicePolicy, now: DeviceConditions) -> Option<String> {
        policy.reason_to_pause(&now).map(|reason| reason.to_string())
    }

    #[test]
    fn what_is_not_known_holds_no_requirement_and_breaks_no_limit() {
        let unknown = DeviceConditions::default();
        assert_eq!(reason(DevicePolicy::default(), unknown), None);
        for (policy, expected) in [
            (DevicePolicy { requires_charging: true, ..DevicePolicy::default() }, "charging"),
            (DevicePolicy { requires_unmetered: true, ..DevicePolicy::default() }, "unmetered"),
            (DevicePolicy { requires_idle: true, ..DevicePolicy::default() }, "idle"),
        ] {
            assert_eq!(reason(policy, unknown).as_deref(), Some(expected));
        }
    }

    #[test]
    fn charge_counts_while_it_is_not_charging_and_heat_always() {
        let low = DeviceConditions { battery_percent: Some(19), ..DeviceConditions::default() };
        assert_eq!(reason(DevicePolicy::default(), low).as_deref(), Some("battery"));
        assert_eq!(
            reason(DevicePolicy::default(), DeviceConditions { battery_percent: Some(20), ..low }),
            None
        );
        let charging = DeviceConditions { is_charging: Some(true), ..low };
        assert_eq!(reason(DevicePolicy::default(), charging), None);
        let hot = DeviceConditions { thermal: Some(Thermal::Serious), ..charging };
        assert_eq!(reason(DevicePolicy::default(), hot).as_deref(), Some("thermal"));
        let policy = DevicePolicy { thermal_max: Thermal::Serious, ..DevicePolicy::default() };
        assert_eq!(reason(policy, hot), None);
    }
}
