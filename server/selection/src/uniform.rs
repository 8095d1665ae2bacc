use rand::{Rng, RngExt};

/// Draws `count` of the items without replacement, or all if there are fewer.
pub(super) fn draw<T>(mut items: Vec<T>, count: usize, rng: &mut impl Rng) -> Vec<T> {
    let count = count.min(items.len());
    // The first `count` steps of a Fisher-Yates shuffle: every subset of this size has the same probability.
    for index in 0..count {
        let other = rng.random_range(index..items.len());
        items.swap(index, other);
    }
    items.truncate(count);
    items
}
