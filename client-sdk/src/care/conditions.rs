use std::collections::BTreeMap;

/// What begins the names of the attributes that say what holds of the device.
pub(crate) const PREFIX: &str = "device.";

/// What holds of the device now, as its platform tells the app. `None` is not known.
///
/// Device rules of plans see what is known as private attributes: `device.charging`, `device.unmetered` and `device.idle`
/// are `true` or `false`, `device.battery_percent` is a number, `device.thermal` a state's name. Nothing of it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceConditions {
    /// Whether the battery is charging, or there is none.
    pub is_charging: Option<bool>,
    /// Whether bytes cost the user nothing.
    pub is_unmetered: Option<bool>,
    /// Whether nobody is using the device.
    pub is_idle: Option<bool>,
    /// The battery's charge, 0 to 100.
    pub battery_percent: Option<u8>,
    /// How hot it is.
    pub thermal: Option<Thermal>,
}

/// How hot a device is, in the steps of Apple's `ProcessInfo.ThermalState`. Android's `none` is `nominal`, `light` is
/// `fair`, `moderate` and `severe` are `serious`, and what is above them is `critical`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thermal {
    /// Within its limits.
    #[default]
    Nominal,
    /// A little warm: fans may be heard.
    Fair,
    /// So hot that the system slows down.
    Serious,
    /// So hot that everything else is to stop.
    Critical,
}

impl Thermal {
    /// The state's name, which does not change.
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
    /// Adds what is known to private attributes. What the app says of the same names is replaced.
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
