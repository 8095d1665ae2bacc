use folkmoot_aggregation::{FlTrust, Projections};

use super::{Guide, Visit};
use crate::{GuideError, MakeError, Rows};

/// FLTrust: trains the root update by the task's plan, measures the updates against it, and combines those that agree.
pub(super) fn means(rows: &mut Rows<'_>, guide: &Guide<'_>, visit: &mut Visit<'_>) -> Result<(), MakeError> {
    let root = root_update(guide)?;
    let mut projections = Projections::new(rows.updates.len());
    rows.for_each_tile(|first, tile| {
        let length = tile.first().map_or(0, |row| row.len());
        projections.add_tile(tile, &root[first..first + length]);
    })?;
    let trusted = FlTrust::trusted(&projections);
    if trusted.is_none() {
        tracing::warn!(
            round = %guide.round_id,
            "fl_trust: no update agrees with the one that the coordinator has trained on its own examples, so the aggregate is 0"
        );
    }
    let mut means = Vec::new();
    rows.for_each_tile(|first, tile| {
        means.clear();
        means.resize(tile.first().map_or(0, |row| row.len()), 0.0);
        if let Some(combination) = &trusted {
            combination.combine(first, tile, &mut means);
        }
        visit(tile, &means);
    })?;
    Ok(())
}

fn root_update(guide: &Guide<'_>) -> Result<Vec<f32>, GuideError> {
    let mut trainer = guide.trainer(&guide.own.weights, guide.plan(), &guide.own.examples)?;
    trainer.advance(u64::MAX)?;
    Ok(trainer.finish().delta)
}
