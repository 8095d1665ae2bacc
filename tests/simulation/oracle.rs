//! The next weights by definition, in another way than the coordinator's: exact integers of 128 bits, one
//! update after the other, on one thread, without a log.

use folkmoot_protocol::ValueGrid;

/// What a client sent, as it remembers it.
#[derive(Clone, Debug)]
pub struct RememberedUpdate {
    /// Its weight.
    pub weight: u64,
    /// Its values.
    pub values: Vec<f32>,
    /// The examples that it claims.
    pub example_count: u64,
    /// Says that it must never count.
    pub is_garbage: bool,
}

/// Computes w + η·(Σ wᵢ·Δᵢ / Σ wᵢ), with every wᵢ·Δᵢ brought to the grid first.
pub fn next_weights(base: &[f32], updates: &[&RememberedUpdate], grid: &ValueGrid, rate: f64) -> Vec<f32> {
    let weights: u64 = updates.iter().map(|update| update.weight).sum();
    // Both factors and their product are exact: the weight has fewer than 53 bits, the other is a power of 2.
    let divisor = weights as f64 * 2f64.powi(grid.fraction_bits as i32);
    let next = |(index, base): (usize, &f32)| {
        let on_grid =
            |update: &&RememberedUpdate| on_grid(update.values[index], update.weight, grid.fraction_bits);
        let sum: i128 = updates.iter().map(on_grid).sum();
        let mean = sum as f64 / divisor;
        (f64::from(*base) + rate * mean) as f32
    };
    base.iter().enumerate().map(next).collect()
}

/// Returns the integer nearest to `value · weight · 2^fraction_bits`, of two the even one.
fn on_grid(value: f32, weight: u64, fraction_bits: u32) -> i128 {
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    let fraction = i128::from(bits & 0x007f_ffff);
    // |value| = significand · 2^power.
    let (significand, power) =
        if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent - 150) };
    let product = significand * i128::from(weight);
    let shift = power + fraction_bits as i32;
    let magnitude = if shift >= 0 { product << shift } else { divided_by_power(product, (-shift) as u32) };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Divides by 2^power and rounds to the nearest, of two to the even one.
fn divided_by_power(product: i128, power: u32) -> i128 {
    if power > 100 {
        return 0;
    }
    let (whole, rest, half) = (product >> power, product & ((1 << power) - 1), 1i128 << (power - 1));
    match rest.cmp(&half) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Equal => whole + (whole & 1),
        std::cmp::Ordering::Greater => whole + 1,
    }
}

#[test]
fn the_grid_rounds_to_the_nearest_and_ties_to_even() {
    for (value, expected) in
        [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.75, 1), (3.0, 3), (-0.0, 0)]
    {
        assert_eq!(on_grid(value, 1, 0), expected, "{value}");
        assert_eq!(on_grid(value / 16.0, 2, 3), expected, "{value}");
    }
    assert_eq!(on_grid(f32::from_bits(1), 10_000, 28), 0);
}

#[test]
fn two_updates_have_their_weighted_mean() {
    let update =
        |weight, value| RememberedUpdate { weight, values: vec![value], example_count: 1, is_garbage: false };
    let (one, other) = (update(1, 1.0), update(3, -1.0));
    let grid = ValueGrid::default();
    assert_eq!(next_weights(&[2.0], &[&one, &other], &grid, 1.0), [1.5]);
    assert_eq!(next_weights(&[2.0], &[&one, &other], &grid, 0.5), [1.75]);
}
