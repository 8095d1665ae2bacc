use folkmoot_coordinator::task::TaskDescription;
use folkmoot_round_log::RoundLogError;

use crate::Rows;

/// Computes the aggregate of updates from the round log. Some rules must measure all updates first, once or several times;
/// for them, the log is read more than once.
pub(super) fn means(
    mut rows: Rows<'_>,
    description: &TaskDescription,
    weights: &[u64],
    attenuations: &[f64],
    mut visit: impl FnMut(&[f64]),
) -> Result<(), RoundLogError> {
    let TaskDescription { aggregator, mixing, finalizer, .. } = description;
    let training = description.local_training(rows.updates.iter().map(|update| &update.metrics));
    let combination =
        aggregator.measured_combination(mixing.as_ref(), weights, attenuations, &training, |measured| {
            rows.for_each_tile(|_, tile| measured.add_tile(tile))
        })?;
    let combination =
        finalizer.extrapolated(combination, |spread| rows.for_each_tile(|_, tile| spread.add_tile(tile)))?;
    let mut means = Vec::new();
    rows.for_each_tile(|_, tile| {
        means.clear();
        means.resize(tile.first().map_or(0, |row| row.len()), 0.0);
        combination.combine(tile, &mut means);
        visit(&means);
    })
}
