//! Which elements of a tensor are sent: the k largest, or all above a threshold.

/// Which elements are chosen, told tile by tile in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selection {
    /// Magnitudes above this, as bits of a float32, are chosen.
    above: u32,
    /// So many that are equal to it are chosen too, the first ones.
    equal: u64,
}

impl Selection {
    /// Chooses the `count` largest magnitudes; of equal ones the first.
    ///
    /// Two passes with a histogram of half the bits each: no copy, and time that depends on the length alone.
    pub fn largest(values: &[f32], count: u64) -> Self {
        if count == 0 {
            return Self { above: u32::MAX, equal: 0 };
        }
        let magnitudes = || values.iter().map(|value| value.to_bits() & 0x7fff_ffff);
        let mut high = vec![0u32; 1 << 15];
        magnitudes().for_each(|bits| high[(bits >> 16) as usize] += 1);
        let (prefix, left) = last_needed(&high, count);
        let mut low = vec![0u32; 1 << 16];
        let same_prefix = magnitudes().filter(|bits| bits >> 16 == prefix);
        same_prefix.for_each(|bits| low[(bits & 0xffff) as usize] += 1);
        let (suffix, equal) = last_needed(&low, left);
        Self { above: prefix << 16 | suffix, equal }
    }

    /// Chooses every element whose magnitude is at least `magnitude`, which is above 0.
    pub fn from_magnitude(magnitude: f32) -> Self {
        Self { above: magnitude.to_bits() - 1, equal: 0 }
    }

    /// Lists the chosen elements of the next tile.
    pub fn positions(&mut self, tile: &[f32], positions: &mut Vec<u32>) {
        positions.clear();
        for (at, value) in tile.iter().enumerate() {
            let bits = value.to_bits() & 0x7fff_ffff;
            if bits < self.above {
                continue;
            }
            if bits > self.above {
                positions.push(at as u32);
            } else if self.equal > 0 {
                self.equal -= 1;
                positions.push(at as u32);
            }
        }
    }
}

/// Returns the bin that holds the `count`-th largest, and which of its entries that is.
fn last_needed(histogram: &[u32], count: u64) -> (u32, u64) {
    let mut left = count;
    for (bin, entries) in histogram.iter().enumerate().rev() {
        if u64::from(*entries) >= left {
            return (bin as u32, left);
        }
        left -= u64::from(*entries);
    }
    // More are asked for than there are: all of them.
    (0, u64::MAX)
}

/// Returns how many of `count` elements a share is, at least one of any.
pub(crate) fn share_of(share: f64, count: u64) -> u64 {
    ((share * count as f64).round() as u64).clamp(count.min(1), count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(mut selection: Selection, values: &[f32], tile: usize) -> Vec<usize> {
        let (mut all, mut positions) = (Vec::new(), Vec::new());
        for (index, values) in values.chunks(tile).enumerate() {
            selection.positions(values, &mut positions);
            all.extend(positions.iter().map(|at| index * tile + *at as usize));
        }
        all
    }

    proptest! {
        #[test]
        fn the_largest_are_those_of_a_stable_sort(
            values in prop::collection::vec(prop_oneof![-3.0f32..3.0, Just(1.0), Just(-1.0), Just(0.0), Just(1e-42)], 0..300),
            count in 0u64..320, tile in 1usize..400,
        ) {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()));
            order.truncate(count as usize);
            order.sort_unstable();
            prop_assert_eq!(chosen(Selection::largest(&values, count), &values, tile), order);
        }
    }

    #[test]
    fn a_threshold_is_inclusive() {
        let values = [0.5, -0.5, 0.499_999_97, 0.0, -2.0];
        assert_eq!(chosen(Selection::from_magnitude(0.5), &values, 2), [0, 1, 4]);
    }

    #[test]
    fn a_share_is_at_least_one_element() {
        let shares = [(0.01, 1024), (0.2, 1024), (0.001, 3), (1.0, 7), (0.5, 0)];
        assert_eq!(shares.map(|(share, count)| share_of(share, count)), [10, 205, 1, 7, 0]);
    }
}
