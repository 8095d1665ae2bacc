//! The backends of burn.

use burn::{backend::{Backend as _, Dispatch}, tensor::Device};

use crate::Failure;

/// A backend of burn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// burn's own kernels on the processor
    Flex,
    /// The graphics card, through the graphics API that burn prefers
    Wgpu,
}

impl Backend {
    /// Returns the name on the command line and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flex => "flex",
            Self::Wgpu => "wgpu",
        }
    }

    /// Returns the device, with automatic differentiation for its tensors.
    ///
    /// # Errors
    /// Fails for `wgpu` if this program was built without the feature `gpu`.
    pub fn device(self) -> Result<Device, Failure> {
        match self {
            Self::Flex => Ok(Device::flex().autodiff()),
            #[cfg(feature = "gpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice).autodiff()),
            #[cfg(not(feature = "gpu"))]
            Self::Wgpu => Err("this program was built without wgpu. Build it with `--features gpu`".into()),
        }
    }
}

/// Returns burn's name for the device's runtime. For a graphics card, the name includes the kernel language.
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
