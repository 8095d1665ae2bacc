use super::squares::{BLOCK, Block, ZEROS, squared_differences, widen};

/// The number of updates per group. The blocks of two groups are compared while they are in the processor's cache.
const GROUP: usize = 32;

/// The number of updates compared with one update at once, so that its values are loaded only once.
const TOGETHER: usize = 4;

/// The squared Euclidean distances between n updates, in float64.
///
/// Each distance is a sum of squared differences. The formula ‖x‖² + ‖y‖² − 2·x·y would lose all precision for nearly
/// equal updates. The distances take n·(n − 1)/2 · 8 bytes of memory, plus n · 2 KiB of working space.
#[derive(Clone, Debug)]
pub struct Distances {
    updates: usize,
    /// One entry per pair, in the order (0, 1), (0, 2) … (1, 2) …
    squares: Vec<f64>,
    /// The current block of every update.
    blocks: Vec<Block>,
}

impl Distances {
    /// Returns the distances of `updates` updates before any tile was added.
    pub fn new(updates: usize) -> Self {
        let pairs = updates * updates.saturating_sub(1) / 2;
        Self { updates, squares: vec![0.0; pairs], blocks: vec![ZEROS; updates] }
    }

    /// Adds one tile. `rows[i]` holds update i's values in the tile; all rows have the same length.
    ///
    /// Add the tiles in the order of the parameters. For bit-identical sums, cut the tiles the same way everywhere, or
    /// at multiples of [`BLOCK`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        let length = rows.first().map_or(0, |row| row.len());
        for start in (0..length).step_by(BLOCK) {
            for (block, row) in self.blocks.iter_mut().zip(rows) {
                widen(&row[start..length.min(start + BLOCK)], block);
            }
            self.add_blocks();
        }
    }

    /// Returns the number of updates.
    pub fn count(&self) -> usize {
        self.updates
    }

    /// Returns the squared distance between two updates; 0 between an update and itself.
    pub fn squared(&self, one: usize, other: usize) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        if low == high { 0.0 } else { self.squares[self.first_pair(low) + high - low - 1] }
    }

    /// Adds the contribution of the current blocks, group by group.
    fn add_blocks(&mut self) {
        for low_group in (0..self.updates).step_by(GROUP) {
            for high_group in (low_group..self.updates).step_by(GROUP) {
                for low in low_group..self.updates.min(low_group + GROUP) {
                    self.add_row(low, high_group.max(low + 1), self.updates.min(high_group + GROUP));
                }
            }
        }
    }

    /// Adds the distances between the block of `low` and the blocks of `from..to`, whose indices are greater than
    /// `low`.
    fn add_row(&mut self, low: usize, from: usize, to: usize) {
        if from >= to {
            return;
        }
        let pair = self.first_pair(low) + from - low - 1;
        let one = &self.blocks[low];
        let (fours, rest) = self.blocks[from..to].as_chunks::<TOGETHER>();
        let (sums_of_fours, sums_of_rest) = self.squares[pair..pair + to - from].as_chunks_mut::<TOGETHER>();
        for (sums, [a, b, c, d]) in sums_of_fours.iter_mut().zip(fours) {
            let squares = squared_differences(one, [a, b, c, d]);
            sums.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
        for (sum, other) in sums_of_rest.iter_mut().zip(rest) {
            let [square] = squared_differences(one, [other]);
            *sum += square;
        }
    }

    /// Returns the index of the pair (low, low + 1); the pairs (low, low + 2) … follow.
    fn first_pair(&self, low: usize) -> usize {
        low * (2 * self.updates - low - 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        let mut distances = Distances::new(3);
        distances.add_tile(&[&[0.0, 0.0], &[3.0, 4.0], &[0.0, 1.0]]);
        distances.add_tile(&[&[1.0], &[1.0], &[2.0]]);
        assert_eq!(distances.count(), 3);
        let table = [0, 1, 2].map(|one| [0, 1, 2].map(|other| distances.squared(one, other)));
        assert_eq!(table, [[0.0, 25.0, 2.0], [25.0, 0.0, 19.0], [2.0, 19.0, 0.0]]);
    }

    #[test]
    fn updates_that_are_almost_alike_keep_their_distance() {
        let mut distances = Distances::new(2);
        let (one, other) = (1000.0f32, 1000.0f32.next_up());
        distances.add_tile(&[&[one; 300], &[other; 300]]);
        let difference = f64::from(other) - f64::from(one);
        assert_eq!(distances.squared(0, 1), 300.0 * difference * difference);
    }

    #[test]
    fn no_update_and_one_update_have_no_pairs() {
        let mut none = Distances::new(0);
        none.add_tile(&[]);
        assert_eq!(none.count(), 0);
        let mut one = Distances::new(1);
        one.add_tile(&[&[1.0]]);
        assert_eq!(one.squared(0, 0), 0.0);
    }
}
