use folkmoot_engine::TrainError;

/// Why training does not run on the chosen device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The engine reported an error.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The adapter failed recently.
    #[error(
        "the adapter {adapter} failed: {detail}; it is not used for {days} days or until its driver changes; \
         choose another device until then"
    )]
    LeftAlone {
        /// The adapter's name.
        adapter: String,
        /// The number of days after the failure in which the adapter is not used.
        days: u64,
        /// The error text of the failure.
        detail: String,
    },
    /// This build lacks the feature `gpu`.
    #[error(
        "this build has no GPU support (the feature `gpu`); use a build that is not slim, or train on the CPU"
    )]
    NotBuilt,
}

#[cfg(feature = "gpu")]
impl From<folkmoot_engine::GpuError> for DeviceError {
    fn from(error: folkmoot_engine::GpuError) -> Self {
        Self::Train(error.into())
    }
}
