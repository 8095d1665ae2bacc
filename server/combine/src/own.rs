//! The parts of a task that are components of its own.

use folkmoot_storage::AcceptedUpdate;
use folkmoot_strategy::{AggregationCommit, Strategy, UpdateFacts};

use crate::{MakeError, Rows};

/// The components of a task: `None` for each part that is built in.
#[derive(Clone, Default)]
pub struct Own {
    /// The component that combines updates.
    pub aggregator: Option<Strategy>,
    /// The component that changes the model.
    pub finalizer: Option<Strategy>,
}

/// Returns what a component gets to know about updates. `base_version` is the newest version.
pub(super) fn facts(updates: &[AcceptedUpdate], attenuations: &[f64], base_version: u64) -> Vec<UpdateFacts> {
    let one = |(update, attenuation): (&AcceptedUpdate, &f64)| UpdateFacts {
        weight: update.weight,
        attenuation: *attenuation,
        staleness: base_version.saturating_sub(update.base_version),
        examples: update.metrics.example_count,
        steps: update.metrics.step_count,
        loss: update.metrics.mean_loss(),
    };
    updates.iter().zip(attenuations).map(one).collect()
}

/// Lets a component compute the aggregate of updates from the round log. Returns the component's state for the next commit.
pub(super) fn means(
    mut rows: Rows<'_>,
    strategy: &Strategy,
    commit: &AggregationCommit,
    state: &[u8],
    mut visit: impl FnMut(&[f64]),
) -> Result<Vec<u8>, MakeError> {
    let mut aggregation = strategy.aggregate(commit, state)?;
    for pass in 0..aggregation.passes() {
        rows.for_each_tile(|first, tile| aggregation.measure(pass, first, tile))?;
    }
    rows.for_each_tile(|first, tile| visit(&aggregation.combine(first, tile)))?;
    Ok(aggregation.finish()?)
}
