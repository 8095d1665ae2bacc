//! Sums over values in a fixed order, with the same result on every machine.

use crate::codec::vectorised;

/// The number of squares that are added in float32 lanes before the sum continues in float64.
pub(crate) const RUN: usize = 256;
/// The number of parallel sums.
pub(crate) const LANES: usize = 16;

/// Returns the largest magnitude, or 0 if there are no values.
pub(crate) fn largest_magnitude(values: &[f32]) -> f32 {
    // Without its sign bit, a float compares like an integer.
    let bits = vectorised(
        #[inline(always)]
        || values.iter().map(|value| value.to_bits() & 0x7fff_ffff).fold(0, u32::max),
    );
    f32::from_bits(bits)
}

/// Returns the sum of the squares. No square overflows, because large values are squared in float64.
pub(crate) fn sum_of_squares(values: &[f32]) -> f64 {
    vectorised(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            let (groups, rest) = values.as_chunks::<LANES>();
            for group in groups {
                for (sum, value) in sums.iter_mut().zip(group) {
                    *sum += f64::from(*value) * f64::from(*value);
                }
            }
            for (sum, value) in sums.iter_mut().zip(rest) {
                *sum += f64::from(*value) * f64::from(*value);
            }
            sums.iter().sum()
        },
    )
}

/// Returns the sum of the products of at most [`RUN`] values, added in float32 lanes.
#[inline(always)]
pub(crate) fn sum_of_products(left: &[f32], right: &[f32]) -> f64 {
    let mut sums = [0.0f32; LANES];
    let (left_groups, left_rest) = left.as_chunks::<LANES>();
    let (right_groups, right_rest) = right.as_chunks::<LANES>();
    for (left, right) in left_groups.iter().zip(right_groups) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    for ((sum, left), right) in sums.iter_mut().zip(left_rest).zip(right_rest) {
        *sum += left * right;
    }
    sums.iter().map(|sum| f64::from(*sum)).sum()
}
