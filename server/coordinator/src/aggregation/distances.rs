use super::squares::{BLOCK, Block, ZEROS, squared_differences, widen};

/// Updates that are compared with one another while their blocks are in the processor's cache.
const GROUP: usize = 32;

/// Updates that one is compared with at once, so that its own values are loaded once for all of them.
const TOGETHER: usize = 4;

/// The squared Euclidean distances between n updates, in float64.
///
/// They are sums of squared differences, not ‖x‖² + ‖y‖² − 2·x·y, which loses everything where updates are
/// almost alike. It takes n·(n − 1)/2 · 8 bytes, and n · 2 KiB to calculate.
#[derive(Clone, Debug)]
pub struct Distances {
    updates: usize,
    /// The pairs (0, 1), (0, 2) … (1, 2) …
    squares: Vec<f64>,
    /// One block of every update.
    blocks: Vec<Block>,
}

impl Distances {
    /// Makes the distances of `updates` updates of which nothing was seen yet.
    pub fn new(updates: usize) -> Self {
        let pairs = updates * updates.saturating_sub(1) / 2;
        Self { updates, squares: vec![0.0; pairs], blocks: vec![ZEROS; updates] }
    }

    /// Adds one tile: `rows[i]` is update i's values in it, all of one length.
    ///
    /// Tiles come in order and are always cut alike, or at multiples of [`BLOCK`]: then the sums have the same
    /// bits everywhere.
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        let length = rows.first().map_or(0, |row| row.len());
        for start in (0..length).step_by(BLOCK) {
            for (block, row) in self.blocks.iter_mut().zip(rows) {
                widen(&row[start..length.min(start + BLOCK)], block);
            }
            self.add_blocks();
        }
    }

    /// Returns how many updates there are.
    pub fn count(&self) -> usize {
        self.updates
    }

    /// Returns the squared distance between two updates; 0 between one and itself.
    pub fn squared(&self, one: usize, other: usize) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        if low == high { 0.0 } else { self.squares[self.first_pair(low) + high - low - 1] }
    }

    /// Adds what the present blocks contribute, group by group.
    fn add_blocks(&mut self) {
        for low_group in (0..self.updates).step_by(GROUP) {
            for high_group in (low_group..self.updates).step_by(GROUP) {
                for low in low_group..self.updates.min(low_group + GROUP) {
                    self.add_row(low, high_group.max(low + 1), self.updates.min(high_group + GROUP));
                }
            }
        }
    }

    /// Adds the distances between the block of `low` and those of `from..to`, which lie above it.
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

    /// Returns where the pairs (low, low + 1), (low, low + 2) … begin.
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
