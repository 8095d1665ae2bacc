//! The work itself: from the fetched blobs to the stored update.

mod chunk;
mod inputs;
mod news;
mod plan;
mod prepare;
mod train;

use folkmoot_protocol::messages::AbortReason;

pub(crate) use inputs::Inputs;
pub(crate) use news::TrainingNews;
pub(crate) use prepare::prepare;
pub(crate) use train::{LocalTraining, TrainedWork, train};

/// Work that cannot be done: what the coordinator is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkError {
    pub reason: AbortReason,
    pub detail: String,
}

impl WorkError {
    pub fn new(reason: AbortReason, detail: impl ToString) -> Self {
        Self { reason, detail: detail.to_string() }
    }
}
