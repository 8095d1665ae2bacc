//! The parts of a task that are its own: components, and in simulations functions.

use std::ops::Range;

use folkmoot_storage::AcceptedUpdate;
use folkmoot_strategy::{
    AggregationCommit, Functions, Part, Strategy, StrategyError, UpdateFacts, UpdateValues,
};

use crate::{MakeError, Rows, rows::TILE_PARAMETERS_MAX};

/// A task's own parts: `None` for each that is built in.
#[derive(Clone, Default)]
pub struct Own {
    /// The part that combines updates.
    pub aggregator: Option<Part>,
    /// The part that changes the model.
    pub finalizer: Option<Part>,
}

/// Returns the facts about updates that a component gets. `base_version` is the newest version.
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

/// Lets a component compute the aggregate of updates from the round log. Passes each tile of the updates and of the aggregate to
/// `visit`. Returns the component's state for the next commit.
pub(super) fn means(
    mut rows: Rows<'_>,
    strategy: &Strategy,
    commit: &AggregationCommit,
    state: &[u8],
    mut visit: impl FnMut(&[&[f32]], &[f64]),
) -> Result<Vec<u8>, MakeError> {
    let mut aggregation = strategy.aggregate(commit, state)?;
    for pass in 0..aggregation.passes() {
        rows.for_each_tile(|first, tile| aggregation.measure(pass, first, tile))?;
    }
    rows.for_each_tile(|first, tile| visit(tile, &aggregation.combine(first, tile)))?;
    Ok(aggregation.finish()?)
}

/// Lets a function compute the aggregate of updates from the round log, which it reads as it needs them.
pub(super) fn whole(
    rows: Rows<'_>,
    functions: &dyn Functions,
    commit: &AggregationCommit,
    newest: &[u8],
    mut visit: impl FnMut(&[f64]),
) -> Result<(), MakeError> {
    let aggregate = functions.aggregate(commit, &mut Values { rows, newest })?;
    aggregate.chunks(TILE_PARAMETERS_MAX).for_each(&mut visit);
    Ok(())
}

/// The updates of a round for a function.
struct Values<'a> {
    rows: Rows<'a>,
    newest: &'a [u8],
}

impl UpdateValues for Values<'_> {
    fn newest(&self) -> &[u8] {
        self.newest
    }

    fn read(&mut self, update: usize, parameters: Range<usize>) -> Result<&[f32], StrategyError> {
        self.rows.of_one(update, parameters).map_err(|error| StrategyError::Functions(error.to_string()))
    }
}
