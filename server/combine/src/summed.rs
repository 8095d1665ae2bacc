use folkmoot_aggregation::ExactMean;

use crate::ingest::RoundSum;

/// Passes the mean of updates that were summed on arrival to `visit`, tile by tile.
pub(super) fn means(sum: &RoundSum, mean: &ExactMean, mut visit: impl FnMut(&[f64])) {
    let mut means = Vec::new();
    sum.for_each_tile(|tile| {
        means.clear();
        means.extend(tile.iter().map(|sum| mean.of(*sum)));
        visit(&means);
    });
}
