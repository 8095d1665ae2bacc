//! Decides where a client trains: on the CPU, or on a graphics adapter that is faster and has not failed recently.

mod error;
#[cfg_attr(
    not(feature = "gpu"),
    allow(dead_code, reason = "nothing is learnt of adapters that cannot be used")
)]
mod known;
#[cfg_attr(
    not(feature = "gpu"),
    allow(dead_code, reason = "nothing is learnt of adapters that cannot be used")
)]
mod memory;
#[cfg(feature = "gpu")]
mod on_gpu;
mod place;
#[cfg_attr(
    not(feature = "gpu"),
    allow(dead_code, reason = "nothing is learnt of adapters that cannot be used")
)]
mod store;

use std::{convert::Infallible, fmt, str::FromStr};

pub use error::DeviceError;
pub use known::Devices;
#[cfg(any(test, feature = "gpu"))]
pub(crate) use memory::AdapterId;
pub(crate) use memory::DeviceMemory;
pub use place::Placement;
pub(crate) use store::DeviceStore;

/// The choice of the training device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The CPU or a graphics adapter: the one that a measurement shows to be faster for the current plan. Small models
    /// are faster on the CPU. Software adapters, which the CPU emulates, are not considered.
    #[default]
    Auto,
    /// The CPU, also if there is a graphics adapter.
    Cpu,
    /// The first graphics adapter. A software adapter is used only if there is no other.
    Gpu,
    /// The adapter whose name contains this text.
    Named(String),
}

impl FromStr for Device {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.to_lowercase().as_str() {
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            _ => Self::Named(text.to_owned()),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Named(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_a_part_of_a_name_is_a_device() {
        for (text, device) in [("auto", Device::Auto), ("CPU", Device::Cpu), ("gpu", Device::Gpu)] {
            assert_eq!(text.parse(), Ok(device));
        }
        let named: Device = "Radeon".parse().unwrap();
        assert_eq!(named, Device::Named("Radeon".into()));
        assert_eq!(named.to_string().parse(), Ok(named));
    }
}
