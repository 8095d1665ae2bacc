use folkmoot_engine::{Precision, TrainError, Trainer, TrainingPlan};
use folkmoot_protocol::BlobDigest;

use super::{Device, DeviceError, Devices};

/// Where a training runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// `cpu`, or the adapter's name.
    pub device: String,
    /// How much energy a step takes beside the processor: `low` for an adapter that shares the processor's chip, `high`
    /// for a card of its own, `processor` for the processor itself and what it imitates.
    pub energy_class: &'static str,
    #[cfg(feature = "gpu")]
    pub(super) adapter: Option<super::AdapterId>,
}

impl Placement {
    /// On the processor.
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
    /// Puts a training that has not begun, or was resumed, where it was to run: see [`Device`]. What has to be measured
    /// for that is measured once.
    ///
    /// # Errors
    /// Returns a [`DeviceError`] if it cannot run there. It is then on the CPU, and can go on there unless the plan asks
    /// for mixed precision. With [`Device::Auto`] it is an error only for such plans.
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

    /// Says where a training goes on that has come back from its device to the CPU, and remembers why.
    #[cfg(not(feature = "gpu"))]
    pub fn came_back(&self, _: &Placement, _: &Trainer) -> Option<Placement> {
        None
    }
}
