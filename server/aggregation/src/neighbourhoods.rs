use std::sync::Arc;

use folkmoot_protocol::saturating::to_float32;

/// For each update, the indices of the updates that are mixed into it, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhoods(Arc<[Vec<usize>]>);

impl Neighbourhoods {
    /// Each list must not be empty.
    pub(super) fn new(lists: impl Iterator<Item = Vec<usize>>) -> Self {
        Self(lists.collect())
    }

    /// Mixes one tile, and passes the mixed rows to `visit`. `rows[i]` holds update i's values in the tile.
    pub(super) fn mix<T>(&self, rows: &[&[f32]], visit: impl FnOnce(&[&[f32]]) -> T) -> T {
        let length = rows.first().map_or(0, |row| row.len());
        let mut mixed = Vec::with_capacity(rows.len() * length);
        let mut sums = vec![0.0; length];
        for neighbours in self.0.iter() {
            sums.fill(0.0);
            for row in neighbours.iter().map(|index| rows[*index]) {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            mixed.extend(sums.iter().map(|sum| to_float32(sum / neighbours.len() as f64)));
        }
        let mixed: Vec<&[f32]> =
            (0..rows.len()).map(|row| &mixed[row * length..(row + 1) * length]).collect();
        visit(&mixed)
    }
}
