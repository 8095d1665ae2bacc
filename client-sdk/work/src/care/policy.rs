use std::fmt;

use super::{DeviceConditions, Thermal};

/// The app's conditions for training on a device. The plan's device rules apply in addition.
///
/// A requirement fails if its condition is unknown. Battery level and thermal state are limits: they are ignored while
/// their values are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePolicy {
    /// Train only while the battery is charging.
    pub requires_charging: bool,
    /// Train only on an unmetered connection.
    pub requires_unmetered: bool,
    /// Train only while nobody is using the device.
    pub requires_idle: bool,
    /// Train only at this battery level or above, or while charging. In percent, 0 to 100.
    pub battery_percent_min: u8,
    /// Train only in this thermal state or a cooler one.
    pub thermal_max: Thermal,
    /// The number of seconds of pause after which the client gives up its assignment. Shorter pauses, such as a briefly
    /// unplugged charger, do not end the assignment.
    pub give_up_after_seconds: u32,
}

/// Allows training while in use, on battery power down to 20 percent, up to [`Thermal::Fair`], and on any connection.
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
    /// The app paused the client, with this text as the reason.
    App(String),
    /// The device is not charging.
    Charging,
    /// The connection is metered.
    Unmetered,
    /// The device is in use.
    Idle,
    /// The battery level is too low.
    Battery,
    /// The device is too hot.
    Thermal,
    /// A device rule of the plan no longer holds.
    Plan,
    /// The training time of the day is used up.
    TrainingTime,
    /// The training time without charging is used up for the day, and the device is not charging.
    BatteryTime,
}

/// Writes the reason's stable name, or the app's own text for [`PauseReason::App`].
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
    /// Checks the range of the battery level.
    ///
    /// # Errors
    /// A message for the app's developer.
    pub fn validate(&self) -> Result<(), String> {
        if self.battery_percent_min > 100 {
            return Err("battery_percent_min is above 100; set it to 100 or less".to_owned());
        }
        Ok(())
    }

    /// Returns why these conditions forbid training, or `None`. Conditions are checked in the order of the fields.
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
