use std::sync::Arc;

use folkmoot_protocol::saturating::to_float32;

/// For each averaged update, the indices of the updates in its mean, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Averages(Arc<[Vec<usize>]>);

impl Averages {
    /// Creates the averages of these lists, none of which may be empty.
    pub(super) fn new(lists: impl Iterator<Item = Vec<usize>>) -> Self {
        Self(lists.collect())
    }

    /// Returns the number of averaged updates.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Averages one tile, and passes the averaged rows to `visit`. `rows[i]` holds update i's values in the tile.
    pub(super) fn average<T>(&self, rows: &[&[f32]], visit: impl FnOnce(&[&[f32]]) -> T) -> T {
        let length = rows.first().map_or(0, |row| row.len());
        let mut averaged = Vec::with_capacity(self.count() * length);
        let mut sums = vec![0.0; length];
        for indices in self.0.iter() {
            sums.fill(0.0);
            for row in indices.iter().map(|index| rows[*index]) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            averaged.extend(sums.iter().map(|sum| to_float32(sum / indices.len() as f64)));
        }
        let averaged: Vec<&[f32]> =
            (0..self.count()).map(|row| &averaged[row * length..(row + 1) * length]).collect();
        visit(&averaged)
    }
}
