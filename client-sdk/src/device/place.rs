use folkmoot_engine::{Precision, TrainError, Trainer, TrainingPlan};
use folkmoot_protocol::BlobDigest;

use super::{Device, DeviceError, Devices};

/// The device on which a training runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// `cpu`, or the adapter's name.
    pub device: String,
    /// The energy class of the device: the power that it uses in addition to the CPU. It is `low` for an adapter on the
    /// CPU's chip, `high` for a separate card, and `processor` for the CPU itself and software adapters.
    pub energy_class: &'static str,
    #[cfg(feature = "gpu")]
    pub(super) adapter: Option<super::AdapterId>,
}

impl Placement {
    /// A placement on the CPU.
    pub fn cpu() -> Self {
        Self {
            device: "cpu".into(),
            energy_class: "processor",
            #[cfg(feature = "gpu")]
            adapter: None,
        }
    }
}

impl Devices {
    /// Moves a training to its device; see [`Device`]. The training must be new or just resumed. Measurements for the
    /// decision are made once and remembered.
    ///
    /// # Errors
    /// [`DeviceError`] if the training cannot run on that device. It then stays on the CPU, and can continue there
    /// unless the plan asks for mixed precision. With [`Device::Auto`], only plans with mixed precision fail.
    pub fn place(
        &self,
        trainer: &mut Trainer,
        plan: &TrainingPlan,
        model: BlobDigest,
    ) -> Result<Placement, DeviceError> {
        match (&self.wanted, plan.precision) {
            (Device::Cpu, Precision::Single) => Ok(Placement::cpu()),
            (Device::Cpu, Precision::Mixed) => Err(TrainError::NoHalfPrecision.into()),
            _ => self.place_beside_cpu(trainer, plan, model),
        }
    }

    #[cfg(not(feature = "gpu"))]
    fn place_beside_cpu(
        &self,
        _: &mut Trainer,
        plan: &TrainingPlan,
        _: BlobDigest,
    ) -> Result<Placement, DeviceError> {
        match (&self.wanted, plan.precision) {
            (Device::Auto, Precision::Single) => Ok(Placement::cpu()),
            _ => Err(DeviceError::NotBuilt),
        }
    }

    /// If a device failure moved the training back to the CPU, records the fault and returns the new placement.
    #[cfg(not(feature = "gpu"))]
    pub fn came_back(&self, _: &Placement, _: &Trainer) -> Option<Placement> {
        None
    }
}
