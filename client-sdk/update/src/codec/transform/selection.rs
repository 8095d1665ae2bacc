//! Selects the elements of a tensor to send: the k largest, or all above a threshold.

/// A selection of elements, listed tile by tile in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selection {
    /// The bits of a float32 magnitude. All elements with a larger magnitude are selected.
    above: u32,
    /// The number of elements with exactly this magnitude that are selected too. These are the first ones.
    equal: u64,
}

impl Selection {
    /// Selects the elements with the `count` largest magnitudes. Among equal magnitudes, selects the first elements.
    ///
    /// Uses two passes, each with a histogram of half the bits. It needs no copy, and its time depends only on the
    /// length.
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

    /// Selects every element whose magnitude is at least `magnitude`, which must be above 0.
    pub fn from_magnitude(magnitude: f32) -> Self {
        Self { above: magnitude.to_bits() - 1, equal: 0 }
    }

    /// Lists the selected elements of the next tile.
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

/// Returns the bin that contains the `count`-th largest element, and that element's rank within the bin.
fn last_needed(histogram: &[u32], count: u64) -> (u32, u64) {
    let mut left = count;
    for (bin, entries) in histogram.iter().enumerate().rev() {
        if u64::from(*entries) >= left {
            return (bin as u32, left);
        }
        left -= u64::from(*entries);
    }
    // More elements are requested than exist, so select all.
    (0, u64::MAX)
}

/// Returns the number of elements in a share of `count`, at least one unless there are none.
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
