use folkmoot_noise::DrawError;
use folkmoot_round_log::RoundLogError;
use folkmoot_strategy::StrategyError;

use crate::guide_error::GuideError;

/// The reason why a round's updates could not be combined into a version. Nothing was released.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The round log cannot be read.
    #[error(transparent)]
    RoundLog(#[from] RoundLogError),
    /// The sum of the masked weights is impossible: a client has not sent what its plan allows.
    #[error(
        "the weights inside the masks sum up to {found}, but {updates} updates can have {least} to {most}"
    )]
    WeightSum {
        /// The sum.
        found: u64,
        /// The number of updates.
        updates: u64,
        /// The smallest sum.
        least: u64,
        /// The largest sum.
        most: u64,
    },
    /// The noise cannot be drawn or added.
    #[error(transparent)]
    Noise(#[from] DrawError),
    /// The weights that the aggregator has kept with the newest version are damaged.
    #[error(
        "the {0} bytes that afl has kept with the newest version are not the weights of clients; restore a backup, or create the \
         task again"
    )]
    MixtureWeights(usize),
    /// The coordinator could not compute on its own examples.
    #[error(transparent)]
    Guide(#[from] GuideError),
    /// The task's own component failed.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
}
