use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::RoundId;
use folkmoot_round_log::RoundLogError;
use folkmoot_storage::AcceptedUpdate;

use crate::Rows;

/// Computes the aggregate of updates from the round log. Some rules must measure all updates first, once or several times;
/// for them, the log is read more than once. Passes each tile of the aggregate to `visit`, and before that, without its noise, to `measure`
/// with the tile of the updates.
pub(super) fn means(
    mut rows: Rows<'_>,
    description: &TaskDescription,
    round_id: RoundId,
    weights: &[u64],
    attenuations: &[f64],
    mut measure: impl FnMut(&[&[f32]], &[f64]),
    mut visit: impl FnMut(&[f64]),
) -> Result<(), RoundLogError> {
    let TaskDescription { aggregator, finalizer, .. } = description;
    let seed = seed(round_id, rows.updates);
    let training = description.local_training(rows.updates.iter().map(|update| &update.metrics));
    let combination = aggregator.measured_combination(
        description.preparation(),
        seed,
        weights,
        attenuations,
        &training,
        |measured| rows.for_each_tile(|_, tile| measured.add_tile(tile)),
    )?;
    let combination =
        finalizer.extrapolated(combination, |spread| rows.for_each_tile(|_, tile| spread.add_tile(tile)))?;
    let mut means = Vec::new();
    rows.for_each_tile(|first, tile| {
        means.clear();
        means.resize(tile.first().map_or(0, |row| row.len()), 0.0);
        combination.without_noise().combine(first, tile, &mut means);
        measure(tile, &means);
        combination.add_noise(first, &mut means);
        visit(&means);
    })
}

/// Returns the seed of the random choices of a rule. It depends on the round and on the digests of all updates. So a version that
/// is computed again is the same, and no client knows the seed before it sends its update.
pub(super) fn seed(round_id: RoundId, updates: &[AcceptedUpdate]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(round_id.as_bytes());
    updates.iter().for_each(|update| {
        hasher.update(update.digest.as_bytes());
    });
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}
