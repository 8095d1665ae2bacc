use std::collections::BTreeMap;

/// The prefix of attribute names that describe the device's conditions.
pub(crate) const PREFIX: &str = "device.";

/// The device's current conditions, as the platform reports them to the app. `None` means unknown.
///
/// Device rules of plans see known conditions as private attributes. `device.charging`, `device.unmetered` and
/// `device.idle` are `true` or `false`, `device.battery_percent` is a number, and `device.thermal` is the name of a
/// state. None of them is ever sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceConditions {
    /// True if the battery is charging. Also `true` for a device without a battery.
    pub is_charging: Option<bool>,
    /// True if the network connection is unmetered, so that traffic costs the user nothing.
    pub is_unmetered: Option<bool>,
    /// True if nobody is using the device.
    pub is_idle: Option<bool>,
    /// The battery level in percent, 0 to 100.
    pub battery_percent: Option<u8>,
    /// The thermal state.
    pub thermal: Option<Thermal>,
}

/// The thermal state of a device, with the levels of Apple's `ProcessInfo.ThermalState`. On Android, `none` maps to
/// `nominal`, `light` to `fair`, `moderate` and `severe` to `serious`, and higher levels to `critical`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thermal {
    /// Within its thermal limits.
    #[default]
    Nominal,
    /// Slightly warm: fans may be audible.
    Fair,
    /// Hot: the system throttles performance.
    Serious,
    /// So hot that all other work should stop.
    Critical,
}

impl Thermal {
    /// Returns the state's name, which is stable across versions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nominal => "nominal",
            Self::Fair => "fair",
            Self::Serious => "serious",
            Self::Critical => "critical",
        }
    }
}

impl DeviceConditions {
    /// Adds the known conditions to the private attributes. They replace attributes of the same names that the app set.
    pub(crate) fn add_to(&self, attributes: &mut BTreeMap<String, String>) {
        let known = [
            ("charging", self.is_charging.map(|holds| holds.to_string())),
            ("unmetered", self.is_unmetered.map(|holds| holds.to_string())),
            ("idle", self.is_idle.map(|holds| holds.to_string())),
            ("battery_percent", self.battery_percent.map(|percent| percent.to_string())),
            ("thermal", self.thermal.map(|thermal| thermal.as_str().to_owned())),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                attributes.insert(format!("{PREFIX}{name}"), value);
            }
        }
    }
}
