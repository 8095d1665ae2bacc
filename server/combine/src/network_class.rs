use std::collections::BTreeMap;

/// The kind of network connection that a client reports. The traffic metrics have one count for each kind.
///
/// The kinds are fixed, so no free text from a client is shown or becomes a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkClass {
    /// Wired.
    Ethernet,
    /// Wi-Fi.
    Wifi,
    /// Mobile, fifth generation.
    FiveG,
    /// Mobile, fourth generation.
    FourG,
    /// Mobile, third generation.
    ThreeG,
    /// Mobile, second generation.
    TwoG,
    /// Mobile, of an unspecified generation.
    Cellular,
    /// Any connection that is billed by volume.
    Metered,
    /// Any other reported value.
    Other,
    /// The client reports no connection.
    Unknown,
}

impl NetworkClass {
    /// The name of the check-in attribute that contains the class.
    pub const ATTRIBUTE: &'static str = "network";

    const NAMED: [Self; 8] = [
        Self::Ethernet,
        Self::Wifi,
        Self::FiveG,
        Self::FourG,
        Self::ThreeG,
        Self::TwoG,
        Self::Cellular,
        Self::Metered,
    ];

    /// Returns the class of a client with these attributes.
    pub fn of(attributes: &BTreeMap<String, String>) -> Self {
        let Some(value) = attributes.get(Self::ATTRIBUTE) else { return Self::Unknown };
        let named = Self::NAMED.into_iter().find(|class| value.trim().eq_ignore_ascii_case(class.name()));
        named.unwrap_or(if value == Self::Unknown.name() { Self::Unknown } else { Self::Other })
    }

    /// Returns the class's name, as clients report it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Wifi => "wifi",
            Self::FiveG => "5g",
            Self::FourG => "4g",
            Self::ThreeG => "3g",
            Self::TwoG => "2g",
            Self::Cellular => "cellular",
            Self::Metered => "metered",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_from_its_name_and_everything_else_is_one_class() {
        let of = |value: &str| NetworkClass::of(&[("network".to_owned(), value.to_owned())].into());
        for class in NetworkClass::NAMED.into_iter().chain([NetworkClass::Other, NetworkClass::Unknown]) {
            assert_eq!(of(class.name()), class);
        }
        assert_eq!(of(" WiFi "), NetworkClass::Wifi);
        assert_eq!(of("my own network\n"), NetworkClass::Other);
        assert_eq!(NetworkClass::of(&BTreeMap::new()), NetworkClass::Unknown);
    }
}
