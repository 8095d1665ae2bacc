//! Where burn computes.

use burn::{backend::{Backend as _, Dispatch}, tensor::Device};

use crate::Failure;

/// A backend of burn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// burn's own kernels on the processor
    Flex,
    /// The graphics card, through the API that burn prefers there
    Wgpu,
}

impl Backend {
    /// The name on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flex => "flex",
            Self::Wgpu => "wgpu",
        }
    }

    /// Returns the device of which new tensors take part in gradients.
    ///
    /// # Errors
    /// Refuses `wgpu` where it was not compiled in.
    pub fn device(self) -> Result<Device, Failure> {
        match self {
            Self::Flex => Ok(Device::flex().autodiff()),
            #[cfg(feature = "gpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice).autodiff()),
            #[cfg(not(feature = "gpu"))]
            Self::Wgpu => Err("wgpu is not compiled in: build with --features gpu".into()),
        }
    }
}

/// Returns burn's own name of what computes there, with the language of a card's kernels.
pub fn runtime(device: &Device) -> String {
    Dispatch::name(device.as_dispatch())
}

/// Returns the adapter's name; `None` on the processor.
#[cfg(feature = "gpu")]
pub fn adapter(device: &Device) -> Option<String> {
    device.identity().map(|identity| identity.name)
}

/// Returns the adapter's name; `None` on the processor.
#[cfg(not(feature = "gpu"))]
pub fn adapter(_device: &Device) -> Option<String> {
    None
}
