use folkmoot_aggregation::{AggregatorChoice, Measured, Measurement};
use folkmoot_round_log::RoundLogError;

use super::Rows;

/// Computes the aggregate of updates from the round log. Some rules must measure all updates first; for them, the log
/// is read twice.
pub(super) fn means(
    mut rows: Rows<'_>,
    aggregator: &AggregatorChoice,
    weights: &[u64],
    attenuations: &[f64],
    mut visit: impl FnMut(&[f64]),
) -> Result<(), RoundLogError> {
    let measurement = aggregator.measurement();
    let mut measured = Measured::new(measurement, weights.len());
    if measurement != Measurement::None {
        rows.for_each_tile(|_, tile| measured.add_tile(tile))?;
    }
    let combination = aggregator.combination(weights, attenuations, &measured);
    let mut means = Vec::new();
    rows.for_each_tile(|_, tile| {
        means.clear();
        means.resize(tile.first().map_or(0, |row| row.len()), 0.0);
        combination.combine(tile, &mut means);
        visit(&means);
    })
}
