use folkmoot_storage::RoundLogError;

use crate::noise::DrawError;

/// Why no version could be made. Nothing was released.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The round log cannot be read.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// There is no noise.
    #[error(transparent)]
    Noise(#[from] DrawError),
}
