use folkmoot_coordinator::aggregation::ExactMean;
use folkmoot_storage::{AcceptedUpdate, RoundLogError};

use crate::ingest::{Ingest, RoundSum};

/// The mean of updates that were summed while they arrived.
pub(super) fn means(
    ingest: &Ingest,
    sum: &RoundSum,
    accepted: &[AcceptedUpdate],
    factors: &[f64],
    mean: &ExactMean,
    mut visit: impl FnMut(&[f64]),
) -> Result<(), RoundLogError> {
    sum.reconcile(ingest.log(), accepted, factors)?;
    let mut means = Vec::new();
    sum.for_each_tile(|tile| {
        means.clear();
        means.extend(tile.iter().map(|sum| mean.of(*sum)));
        visit(&means);
    });
    Ok(())
}
