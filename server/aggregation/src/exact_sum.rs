//! Sums that do not depend on the order: values are rounded to a fixed-point grid and added as integers.
//!
//! A value `v` of an update with weight `w` is added as the integer nearest to `v · w · 2^f`, ties to even. The
//! product is exact in float64: a significand of 24 bits times a weight below 2^29 needs 53 bits. So there is one
//! rounding, and every machine rounds alike (IEEE 754).
//!
//! Integers add up to the same sum in any order, and an update can be subtracted again exactly. Float sums
//! guarantee neither.

pub use folkmoot_update::grid::{scale, to_grid};

/// Adds the float32 values in `bytes` (little-endian) to `sums`, element by element.
pub fn add_values(sums: &mut [i64], bytes: &[u8], scale: f64) {
    let (values, _) = bytes.as_chunks::<4>();
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.wrapping_add(to_grid(f32::from_le_bytes(*value), scale));
    }
}

/// Subtracts the values that [`add_values`] added for the same bytes and scale.
pub fn take_values(sums: &mut [i64], bytes: &[u8], scale: f64) {
    let (values, _) = bytes.as_chunks::<4>();
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.wrapping_sub(to_grid(f32::from_le_bytes(*value), scale));
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::ValueGrid;
    use proptest::prelude::*;

    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Computes the definition independently, in exact 128-bit rational arithmetic.
    fn by_definition(value: f32, weight: u64, fraction_bits: u32) -> i64 {
        if value == 0.0 {
            return 0;
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 23) & 0xff) as i32;
        let mantissa = i128::from(bits & 0x7f_ffff) | if exponent > 0 { 1 << 23 } else { 0 };
        let shift = exponent.max(1) - 150 + fraction_bits as i32;
        let product = mantissa * i128::from(weight);
        let magnitude = if shift >= 0 {
            product << shift
        } else if shift < -126 {
            0
        } else {
            let (whole, half) = (product >> -shift, 1i128 << (-shift - 1));
            let rest = product - (whole << -shift);
            whole + i128::from(rest > half || rest == half && whole & 1 == 1)
        };
        if value < 0.0 { -magnitude as i64 } else { magnitude as i64 }
    }

    proptest! {
        #[test]
        fn a_value_on_the_grid_is_the_nearest_integer(value in -16.0f32..=16.0, weight in 1u64..=10_000) {
            let grid = ValueGrid::default();
            prop_assert_eq!(to_grid(value, scale(&grid, weight as f64)), by_definition(value, weight, grid.fraction_bits));
        }

        #[test]
        fn the_order_never_shows_and_what_was_added_can_be_taken_out(
            updates in prop::collection::vec((prop::collection::vec(-16.0f32..=16.0, 37), 1u64..10_000), 1..12),
            rotation in 0usize..12,
        ) {
            let grid = ValueGrid::default();
            let sum = |updates: &[(Vec<f32>, u64)]| {
                let mut sums = vec![0; 37];
                updates.iter().for_each(|(v, w)| add_values(&mut sums, &bytes(v), scale(&grid, *w as f64)));
                sums
            };
            let mut other = updates.clone();
            other.rotate_left(rotation % updates.len());
            other.reverse();
            let all = sum(&updates);
            prop_assert_eq!(&all, &sum(&other));
            let mut without_first = all.clone();
            take_values(&mut without_first, &bytes(&updates[0].0), scale(&grid, updates[0].1 as f64));
            prop_assert_eq!(without_first, sum(&updates[1..]));
        }
    }

    #[test]
    fn the_corners_of_the_grid_are_exact() {
        let grid = ValueGrid { fraction_bits: 32, value_max: 16.0, weight_max: 10_000 };
        for value in
            [16.0, -16.0, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, -0.0, 2f32.powi(-33), 3.0 * 2f32.powi(-33)]
        {
            for weight in [1, 9_999, 10_000] {
                let expected = by_definition(value, weight, 32);
                assert_eq!(to_grid(value, scale(&grid, weight as f64)), expected, "{value} {weight}");
            }
        }
    }
}
