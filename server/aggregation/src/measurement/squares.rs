//! Sums of squares in a fixed order, for the same bits on every machine.

/// The number of neighbouring values that are summed before the sum is added to the total.
///
/// Sums are bit-identical for every tiling in which all tiles except the last have a multiple of this length.
pub const BLOCK: usize = 256;

/// Parallel partial sums: value k is added to sum k mod 4. This order is part of the definition of the result.
const LANES: usize = 4;

/// One block of an update in float64. Beyond the end of a tile it is padded with 0.
pub(super) type Block = [[f64; LANES]; BLOCK / LANES];

/// A block of zeros, for padding.
pub(super) const ZEROS: Block = [[0.0; LANES]; BLOCK / LANES];

/// Converts at most [`BLOCK`] values to float64.
#[inline]
pub(super) fn widen<T: Copy + Into<f64>>(values: &[T], block: &mut Block) {
    let places = block.as_flattened_mut();
    let (widened, behind) = places.split_at_mut(values.len());
    widened.iter_mut().zip(values).for_each(|(place, value)| *place = (*value).into());
    behind.fill(0.0);
}

/// Sums the squared differences between one block and each of several others.
#[inline]
pub(super) fn squared_differences<const N: usize>(one: &Block, others: [&Block; N]) -> [f64; N] {
    let mut sums = [[0.0; LANES]; N];
    for (chunk, values) in one.iter().enumerate() {
        for (sums, other) in sums.iter_mut().zip(&others) {
            for ((sum, value), other) in sums.iter_mut().zip(values).zip(&other[chunk]) {
                let difference = value - other;
                *sum += difference * difference;
            }
        }
    }
    sums.map(|[a, b, c, d]| (a + b) + (c + d))
}
