use folkmoot_aggregation::{Combination, FlTrust, Projections};

use super::{Guide, Visit};
use crate::{GuideError, MakeError, Rows};

/// FLTrust: trains the root update by the task's plan, compares the updates with it, and combines the updates that
/// agree.
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
    let nobody = || Combination::Mean { factors: vec![0.0; rows.updates.len()], divisor: 1.0 };
    let combination = trusted.unwrap_or_else(nobody);
    Ok(rows.for_each_mean(&combination, |_, tile, means| visit(tile, means))?)
}

fn root_update(guide: &Guide<'_>) -> Result<Vec<f32>, GuideError> {
    let mut trainer = guide.trainer(&guide.own.weights, guide.plan(), &guide.own.examples)?;
    trainer.advance(u64::MAX)?;
    Ok(trainer.finish().delta)
}
