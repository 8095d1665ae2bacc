/// The number of columns gathered at once: enough to read the rows sequentially.
const COLUMNS: usize = 64;

/// A rule that combines each coordinate independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoordinateRule {
    /// The middle value, or the mean of the two middle ones (Yin et al. 2018, "Byzantine-robust distributed
    /// learning: towards optimal statistical rates", definition 1).
    Median,
    /// The mean without the `trim` smallest and the `trim` largest values (Yin et al. 2018, definition 2).
    TrimmedMean {
        /// The number of values removed at each end. It is capped so that at least one value is left.
        trim: usize,
    },
    /// The mean of the `count` values that are closest to the median (El Mhamdi et al. 2018, "The hidden vulnerability of
    /// distributed learning in Byzantium", section 4). Of two equally close values, the smaller one counts first.
    NearMedian {
        /// The number of values in the mean. It is limited to 1 to n.
        count: usize,
    },
}

impl CoordinateRule {
    /// Combines one tile. `rows[i]` holds update i's values in the tile, and `out` has the tile's length.
    ///
    /// The result depends neither on the order of the rows nor on the tiling: values are summed in ascending
    /// order. Without rows, the result is 0.
    pub fn combine(&self, rows: &[&[f32]], out: &mut [f64]) {
        if rows.is_empty() {
            return out.fill(0.0);
        }
        let mut columns = vec![0; rows.len() * COLUMNS.min(out.len())];
        for (block, out) in out.chunks_mut(COLUMNS).enumerate() {
            let start = block * COLUMNS;
            for (update, row) in rows.iter().enumerate() {
                let values = &row[start..start + out.len()];
                let places = columns.iter_mut().skip(update).step_by(rows.len());
                places.zip(values).for_each(|(place, value)| *place = key_of(*value));
            }
            for (column, combined) in columns.chunks_exact_mut(rows.len()).zip(out) {
                *combined = self.combine_column(column);
            }
        }
    }

    /// Combines the values of one coordinate. `keys` must not be empty; it is reordered.
    fn combine_column(&self, keys: &mut [i32]) -> f64 {
        let last = keys.len() - 1;
        match *self {
            CoordinateRule::Median => {
                let (below, middle, _) = keys.select_nth_unstable(keys.len() / 2);
                let middle = value_of(*middle);
                let before = below.iter().max().filter(|_| last % 2 == 1);
                before.map_or(middle, |before| (value_of(*before) + middle) / 2.0)
            }
            CoordinateRule::TrimmedMean { trim } => {
                let trim = trim.min(last / 2);
                keys.sort_unstable();
                let kept = &keys[trim..=last - trim];
                mean_of(kept)
            }
            CoordinateRule::NearMedian { count } => {
                keys.sort_unstable();
                mean_of(near_median(keys, count))
            }
        }
    }
}

/// Returns the `count` keys whose values are closest to the median. `keys` must be in ascending order, so the result is a
/// part of it.
fn near_median(keys: &[i32], count: usize) -> &[i32] {
    let median = (value_of(keys[(keys.len() - 1) / 2]) + value_of(keys[keys.len() / 2])) / 2.0;
    let count = count.clamp(1, keys.len());
    let is_closer = |start: &usize| value_of(keys[start + count]) - median < median - value_of(keys[*start]);
    let start = (0..keys.len() - count).take_while(is_closer).count();
    &keys[start..start + count]
}

/// Returns the mean of the keys' values, summed in their order.
fn mean_of(keys: &[i32]) -> f64 {
    keys.iter().copied().map(value_of).sum::<f64>() / keys.len() as f64
}

/// Returns an integer that sorts like the value under [`f32::total_cmp`]. Sorting integers is about twice as
/// fast.
fn key_of(value: f32) -> i32 {
    flip(value.to_bits().cast_signed())
}

/// Returns the value of a key, as float64.
fn value_of(key: i32) -> f64 {
    f64::from(f32::from_bits(flip(key).cast_unsigned()))
}

/// Flips all bits of a negative float except the sign, so that its bits sort in ascending order. A second call restores
/// the bits.
fn flip(bits: i32) -> i32 {
    bits ^ ((bits >> 31) & i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combine(rule: CoordinateRule, values: &[f32]) -> f64 {
        let rows: Vec<&[f32]> = values.chunks(1).collect();
        let mut out = [f64::NAN];
        rule.combine(&rows, &mut out);
        out[0]
    }

    #[test]
    fn medians_by_hand() {
        let median = |values: &[f32]| combine(CoordinateRule::Median, values);
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[3.0, -1.0]), 1.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 1e30, 2.0]), 3.0);
    }

    #[test]
    fn trimmed_means_by_hand() {
        let trimmed = |trim, values: &[f32]| combine(CoordinateRule::TrimmedMean { trim }, values);
        assert_eq!(trimmed(1, &[]), 0.0);
        assert_eq!(trimmed(1, &[5.0]), 5.0);
        assert_eq!(trimmed(1, &[5.0, 1.0]), 3.0);
        assert_eq!(trimmed(1, &[5.0, 1e30, -1e30, 1.0]), 3.0);
        assert_eq!(trimmed(0, &[5.0, 1.0, 0.0]), 2.0);
        assert_eq!(trimmed(usize::MAX, &[5.0, 1.0, 0.0]), 1.0);
    }

    #[test]
    fn means_near_the_median_by_hand() {
        let near = |count, values: &[f32]| combine(CoordinateRule::NearMedian { count }, values);
        assert_eq!(near(1, &[]), 0.0);
        assert_eq!(near(3, &[5.0]), 5.0);
        assert_eq!(near(0, &[5.0, 1.0, 9.0]), 5.0, "at least one value is used");
        assert_eq!(near(2, &[0.0, 4.0, 6.0, 1e30, -1e30]), 5.0);
        // The median of 1, 2, 4 and 9 is 3. Both 2 and 4 are at distance 1, and the smaller counts first.
        assert_eq!(near(1, &[9.0, 1.0, 4.0, 2.0]), 2.0);
        assert_eq!(near(3, &[9.0, 1.0, 4.0, 2.0]), 7.0 / 3.0);
        assert_eq!(near(4, &[9.0, 1.0, 4.0, 2.0]), 4.0);
    }

    #[test]
    fn keys_order_as_values_do() {
        let values =
            [-f32::NAN, f32::NEG_INFINITY, -2.5, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, 2.5, f32::INFINITY];
        assert!(values.map(key_of).is_sorted() && key_of(f32::NAN) > key_of(f32::INFINITY));
        values[1..].iter().for_each(|value| {
            assert_eq!(value_of(key_of(*value)).to_bits(), f64::from(*value).to_bits());
        });
    }

    #[test]
    fn what_is_no_number_does_not_panic() {
        let values = [f32::NAN, 1.0, -f32::NAN, f32::INFINITY, 2.0];
        assert_eq!(combine(CoordinateRule::Median, &values), 2.0);
        assert_eq!(combine(CoordinateRule::TrimmedMean { trim: 2 }, &values), 2.0);
        assert!(combine(CoordinateRule::TrimmedMean { trim: 0 }, &values).is_nan());
    }
}
