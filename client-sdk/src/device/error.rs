use folkmoot_engine::TrainError;

/// Why a training does not run where it was to run.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The engine says why.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The adapter failed not long ago.
    #[error(
        "{adapter} is left alone for {days} days or until its driver changes, because it failed: {detail}"
    )]
    LeftAlone {
        /// The adapter's name.
        adapter: String,
        /// For how long after the failure.
        days: u64,
        /// How it failed.
        detail: String,
    },
    /// The feature `gpu` is off.
    #[error("this build trains on the CPU only, because it is without the feature `gpu` (a slim build)")]
    NotBuilt,
}

#[cfg(feature = "gpu")]
impl From<folkmoot_engine::GpuError> for DeviceError {
    fn from(error: folkmoot_engine::GpuError) -> Self {
        Self::Train(error.into())
    }
}
