use serde::{Deserialize, Serialize};

use super::{Availability, Compute, Dropout, Network, SlowClients};
use crate::{InvalidSettingsError, setting::Check};

/// What the population's devices are like. Everything has a default: devices that differ in speed, are always
/// there and never give up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceModel {
    /// How long training takes.
    pub compute: Compute,
    /// When a device offers itself.
    pub availability: Availability,
    /// How often it leaves an assignment unfinished.
    pub dropout: Dropout,
    /// How fast it transfers.
    pub network: Network,
    /// Devices that are slower than the model makes them.
    pub slow: SlowClients,
    /// A trace file to take compute, availability and network from. Who runs the simulation reads it
    /// ([`super::Trace::read`]) and makes its devices with [`super::Device::traced`].
    pub trace: Option<String>,
}

impl DeviceModel {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`InvalidSettingsError`] with all that is out of range.
    pub fn validate(&self) -> Result<(), InvalidSettingsError> {
        let mut check = Check::new("device");
        self.compute.check(&mut check);
        self.availability.check(&mut check);
        self.dropout.check(&mut check);
        self.network.check(&mut check);
        self.slow.check(&mut check);
        check.end()
    }
}
