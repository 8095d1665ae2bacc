//! Values on the fixed-point grid of the plan ([`ValueGrid`]).

use folkmoot_protocol::ValueGrid;

/// 1.5 · 2^52: adding it to a float64 below 2^51 leaves the nearest integer in the low bits of the result.
const ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Derives the factor `weight · 2^fraction_bits`.
pub fn scale(grid: &ValueGrid, weight: f64) -> f64 {
    weight * f64::from(grid.fraction_bits).exp2()
}

/// Rounds one value to the grid: the nearest integer, ties to even. `|value · scale|` must be below 2^51, which a valid
/// grid guarantees.
#[inline(always)]
pub fn to_grid(value: f32, scale: f64) -> i64 {
    let shifted = f64::from(value) * scale + ROUND_TO_INTEGER;
    (shifted.to_bits() as i64).wrapping_sub(ROUND_TO_INTEGER.to_bits() as i64)
}
