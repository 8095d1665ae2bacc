//! Scores that say how unusual an update is among the updates of its commit.

mod alignments;
mod scores;

pub use alignments::Alignments;
pub use scores::{CommitScores, UNUSUAL, UpdateScore};
