use std::collections::BTreeMap;

/// Over what kind of connection a client says that it is: what bytes are counted by.
///
/// A few fixed classes, so that nothing that a client wrote about itself is shown or becomes a label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkClass {
    /// A cable.
    Ethernet,
    /// A wireless network of its own.
    Wifi,
    /// Mobile, of the fifth generation.
    FiveG,
    /// Mobile, of the fourth generation.
    FourG,
    /// Mobile, of the third generation.
    ThreeG,
    /// Mobile, of the second generation.
    TwoG,
    /// Mobile, of a generation that is not said.
    Cellular,
    /// Any that is paid by the byte.
    Metered,
    /// Another one.
    Other,
    /// It does not say.
    Unknown,
}

impl NetworkClass {
    /// The attribute of a check-in that names it.
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

    /// Reads it from a client's attributes.
    pub fn of(attributes: &BTreeMap<String, String>) -> Self {
        let Some(value) = attributes.get(Self::ATTRIBUTE) else { return Self::Unknown };
        let named = Self::NAMED.into_iter().find(|class| value.trim().eq_ignore_ascii_case(class.name()));
        named.unwrap_or(if value == Self::Unknown.name() { Self::Unknown } else { Self::Other })
    }

    /// Returns the value of the attribute that names it.
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
