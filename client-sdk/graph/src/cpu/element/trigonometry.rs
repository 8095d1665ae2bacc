//! Sine and cosine in single precision, as polynomials after a reduction to the nearest multiple of π/2.

use std::f64::consts::FRAC_2_PI;

/// The first 30 bits of π/2, and the rest. The product of the first with an integer up to 2^23 is exact.
const HALF_PI: f64 = 1.570_796_325_802_803;
const HALF_PI_REST: f64 = 9.920_935_796_805_404e-10;
/// Adding this number leaves the nearest integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `sin x` to about one unit in the last place for |x| up to 2^22. Neighbouring numbers beyond that are half a
/// radian or more apart; for them, the result is only guaranteed to be between -1 and 1.
#[inline(always)]
pub(super) fn sine(x: f32) -> f32 {
    let (quarter, r) = angle(x);
    sine_of(quarter, r)
}

/// `cos x`, as precise as [`sine`].
#[inline(always)]
pub(super) fn cosine(x: f32) -> f32 {
    let (quarter, r) = angle(x);
    sine_of(quarter.wrapping_add(1), r)
}

/// Splits an angle into `quarter · π/2 + r`, with |r| up to π/4.
#[inline(always)]
fn angle(x: f32) -> (u32, f32) {
    let x = f64::from(x);
    let shifted = x * FRAC_2_PI + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * HALF_PI) - n * HALF_PI_REST;
    (shifted.to_bits() as u32, r.clamp(-1.0, 1.0) as f32)
}

/// `sin (quarter · π/2 + r)`, with the polynomials of Moshier's Cephes (`sinf`, `cosf`).
#[inline(always)]
fn sine_of(quarter: u32, r: f32) -> f32 {
    let z = r * r;
    let sine = ((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 0.166_666_55) * z * r + r;
    let cosine = ((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z * z - 0.5 * z + 1.0;
    let magnitude = if quarter & 1 == 0 { sine } else { cosine };
    if quarter & 2 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_agree_with_double_precision_far_from_0() {
        for scale in [1e-6f32, 1.0, 100.0, 3e4, 4e6] {
            for step in -100_000..=100_000 {
                let x = scale * step as f32 / 100_000.0;
                let (exact_sine, exact_cosine) = f64::from(x).sin_cos();
                let near = |found: f32, exact: f64| (f64::from(found) - exact).abs() <= 2e-7 * exact.abs();
                assert!(near(sine(x), exact_sine), "sin {x} = {}, not {exact_sine}", sine(x));
                assert!(near(cosine(x), exact_cosine), "cos {x} = {}, not {exact_cosine}", cosine(x));
            }
        }
    }

    #[test]
    fn numbers_without_an_angle() {
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(sine(x).is_nan() && cosine(x).is_nan(), "{x}");
        }
        for x in [1e10f32, -1e20, f32::MAX] {
            assert!(sine(x).abs() <= 1.0 && cosine(x).abs() <= 1.0, "{x}");
        }
    }
}
