//! Random draws that use only the generator's plain stream, so that a seed always means the same cohort.

use rand::Rng;

const DENOMINATOR: f64 = (1u64 << 53) as f64;

/// Draws a uniform number in [0, 1), with 53 bits.
pub(super) fn below_one(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / DENOMINATOR
}

/// Draws from the exponential distribution with mean 1. The result is finite and not negative.
pub(super) fn exponential(rng: &mut impl Rng) -> f64 {
    let above_zero = ((rng.next_u64() >> 11) + 1) as f64 / DENOMINATOR;
    // The standard library's logarithm differs between platforms in the last bit, which could change the order of
    // keys.
    -libm::log(above_zero)
}

/// Draws an index in proportion to its weight, or `None` if no weight is above 0.
pub(super) fn place_by_weight(weights: &[f64], rng: &mut impl Rng) -> Option<usize> {
    let is_open = |weight: f64| weight > 0.0 && weight.is_finite();
    let total: f64 = weights.iter().copied().filter(|weight| is_open(*weight)).sum();
    let mut left = below_one(rng) * total;
    let mut last = None;
    for (place, weight) in weights.iter().copied().enumerate().filter(|(_, weight)| is_open(*weight)) {
        if left < weight {
            return Some(place);
        }
        left -= weight;
        // Rounding may leave a small remainder after the last weight; it belongs to that weight.
        last = Some(place);
    }
    last
}
