//! Draws over the plain stream of a generator, so that a seed means the same cohort for ever.

use rand::Rng;

const DENOMINATOR: f64 = (1u64 << 53) as f64;

/// Draws a uniform number from 0 up to 1, 1 excluded, with 53 bits.
pub(super) fn below_one(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / DENOMINATOR
}

/// Draws from the exponential distribution with mean 1. It is finite and not negative.
pub(super) fn exponential(rng: &mut impl Rng) -> f64 {
    let above_zero = ((rng.next_u64() >> 11) + 1) as f64 / DENOMINATOR;
    // Not the standard library's: its last bit depends on the platform, and so would the order of two keys.
    -libm::log(above_zero)
}

/// Draws a place in proportion to its weight, or `None` if no weight is above 0.
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
        // Rounding may leave a crumb behind the last weight: it belongs to it.
        last = Some(place);
    }
    last
}
