use folkmoot_storage::RoundLogError;

use crate::noise::DrawError;

/// The reason why a round's updates could not be combined into a version. Nothing was released.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The round log cannot be read.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The noise cannot be drawn or added.
    #[error(transparent)]
    Noise(#[from] DrawError),
}
