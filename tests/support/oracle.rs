//! Computes the next weights directly from the definition, value by value.

use folkmoot_protocol::{PartPlace, ValueGrid};

use crate::task::TestTask;

/// Rounds `value · weight · 2^fraction_bits` to the nearest integer in exact arithmetic. Ties are rounded to even.
///
/// # Panics
/// If the value is not finite.
pub fn to_grid(value: f32, weight: u64, fraction_bits: u32) -> i128 {
    assert!(value.is_finite(), "{value} is not finite, so it is on no grid");
    let bits = value.to_bits();
    let exponent = ((bits >> 23) & 0xff) as i32;
    let fraction = i128::from(bits & 0x7f_ffff);
    // value = significand · 2^(exponent - 150); subnormals have no hidden bit.
    let significand = if exponent == 0 { fraction } else { fraction | 1 << 23 };
    let shift = exponent.max(1) - 150 + fraction_bits as i32;
    let product = significand * i128::from(weight);
    let magnitude = if shift >= 0 { product << shift } else { halved_to_even(product, shift.unsigned_abs()) };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Divides by `2^bits` and rounds to the nearest integer. Ties are rounded to even.
fn halved_to_even(product: i128, bits: u32) -> i128 {
    if bits >= 127 {
        return 0;
    }
    let (whole, rest) = (product >> bits, product & ((1 << bits) - 1));
    let half = 1i128 << (bits - 1);
    whole + i128::from(rest > half || (rest == half && whole & 1 == 1))
}

/// Computes the next weights from `base` and the accepted updates. Each update is a pair of its weight and its values.
///
/// # Panics
/// If there is no update, or if an update has a different length than `base`.
pub fn next_weights(
    base: &[f32],
    updates: &[(u64, Vec<f32>)],
    grid: &ValueGrid,
    server_learning_rate: f64,
) -> Vec<f32> {
    assert!(!updates.is_empty(), "the next weights need at least one update");
    let mut sums = vec![0i128; base.len()];
    for (weight, values) in updates {
        assert_eq!(values.len(), base.len(), "an update has a value for every parameter");
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += to_grid(*value, *weight, grid.fraction_bits);
        }
    }
    let weights: u64 = updates.iter().map(|(weight, _)| weight).sum();
    let divisor = (i128::from(weights) << grid.fraction_bits) as f64;
    let next = |(weight, sum): (&f32, &i128)| {
        let mean = *sum as f64 / divisor;
        (f64::from(*weight) + server_learning_rate * mean) as f32
    };
    base.iter().zip(&sums).map(next).collect()
}

/// Computes the next weights of a task with clusters or widths from `base` and the accepted updates. Each tensor changes by the mean of
/// the updates whose part trains it, as if there were no others.
///
/// # Panics
/// As [`next_weights`].
pub fn next_parts(task: &TestTask, base: &[f32], updates: &[(u64, Vec<f32>)]) -> Vec<f32> {
    let total: u64 = updates.iter().map(|(weight, _)| weight).sum();
    let part_of = |values: &[f32]| values[..task.part_count()].iter().position(|share| *share == 1.0);
    let mut next = Vec::new();
    for tensor in &task.schema.tensors {
        let range = next.len()..next.len() + tensor.shape.iter().product::<u64>() as usize;
        let place = task.place(tensor);
        if place == PartPlace::Shares {
            next.extend((0..task.part_count()).map(|part| {
                let own = updates.iter().filter(|(_, values)| part_of(values) == Some(part));
                (own.map(|(weight, _)| weight).sum::<u64>() as f64 / total as f64) as f32
            }));
            continue;
        }
        let trains = |part: usize| matches!(place, PartPlace::Of(place) if task.trains(part, place));
        let counts = |values: &[f32]| place == PartPlace::Common || part_of(values).is_some_and(trains);
        let own = updates.iter().filter(|(_, values)| counts(values));
        let own: Vec<_> = own.map(|(weight, values)| (*weight, values[range.clone()].to_vec())).collect();
        match own.is_empty() {
            true => next.extend_from_slice(&base[range]),
            false => next.extend(next_weights(&base[range], &own, &task.grid, task.server_learning_rate)),
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_neighbour() {
        for (value, expected) in [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.75, 1), (3.0, 3)] {
            assert_eq!(to_grid(value, 1, 0), expected, "{value}");
        }
        assert_eq!(to_grid(0.5, 3, 0), 2);
        assert_eq!(to_grid(f32::MIN_POSITIVE / 2.0, 10_000, 28), 0);
        assert_eq!(to_grid(16.0, 10_000, 28), 160_000 << 28);
    }

    #[test]
    fn the_mean_is_weighted() {
        let grid = ValueGrid::default();
        let updates = [(1, vec![1.0, -2.0]), (3, vec![0.0, 2.0])];
        assert_eq!(next_weights(&[0.5, 0.0], &updates, &grid, 1.0), [0.75, 1.0]);
    }
}
