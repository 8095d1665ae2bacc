use serde::{Deserialize, Serialize};

use super::{Availability, Compute, Dropout, Network, SlowClients};
use crate::{InvalidSettingsError, setting::Check};

/// The model of the population's devices. By default, devices differ in speed, are always available and never give up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceModel {
    /// The training time of the devices.
    pub compute: Compute,
    /// The times at which the devices are available.
    pub availability: Availability,
    /// The probabilities with which a device leaves an assignment unfinished.
    pub dropout: Dropout,
    /// The transfer speeds of the devices.
    pub network: Network,
    /// Devices that are deliberately slower than the other settings make them.
    pub slow: SlowClients,
    /// The limits on the memory of a training, in bytes, dealt to the clients in turn. Without limits, all devices have
    /// enough. Only tasks with `plan.widths` use the limits.
    pub memory_bytes_max: Vec<u64>,
    /// The path of a trace file that replaces compute, availability and network. The host of the simulation reads the
    /// file with [`super::Trace::read`] and creates the devices with [`super::Device::traced`].
    pub trace: Option<String>,
}

impl DeviceModel {
    /// Validates every setting.
    ///
    /// # Errors
    /// [`InvalidSettingsError`] with every setting that is out of range.
    pub fn validate(&self) -> Result<(), InvalidSettingsError> {
        let mut check = Check::new("device");
        self.compute.check(&mut check);
        self.availability.check(&mut check);
        self.dropout.check(&mut check);
        self.network.check(&mut check);
        self.slow.check(&mut check);
        for bytes in &self.memory_bytes_max {
            check.require("memory_bytes_max", bytes, *bytes > 0, "numbers of 1 or more");
        }
        check.end()
    }
}
