//! Sums of squares in an order that is the same everywhere.

/// How many neighbouring values are summed before the sum goes to the total.
///
/// Tiles whose lengths are multiples of it, but for the last, give the same sums, bit for bit, however the
/// updates are cut.
pub const BLOCK: usize = 256;

/// Partial sums that run side by side: value k goes to the sum k mod 4. It is part of what is computed.
const LANES: usize = 4;

/// One block of an update, widened to float64; what lies behind the end of a tile is 0 and adds nothing.
pub(super) type Block = [[f64; LANES]; BLOCK / LANES];

/// A block of zeros.
pub(super) const ZEROS: Block = [[0.0; LANES]; BLOCK / LANES];

/// Widens at most [`BLOCK`] values.
#[inline]
pub(super) fn widen(values: &[f32], block: &mut Block) {
    let places = block.as_flattened_mut();
    let (widened, behind) = places.split_at_mut(values.len());
    widened.iter_mut().zip(values).for_each(|(place, value)| *place = f64::from(*value));
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
