//! Functions of the normal distribution, and sums in log space, that keep their relative precision in the tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// ln(√(2π)).
const LN_SQRT_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// The argument from which `erfcx` uses its continued fraction.
const ERFCX_FRACTION_FROM: f64 = 3.0;

/// Returns ln(e^a + e^b).
pub(crate) fn ln_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Returns ln(e^x − 1) for x > 0.
pub(crate) fn ln_exp_minus_one(x: f64) -> f64 {
    if x > 37.0 { x } else { x.exp_m1().ln() }
}

/// Returns e^x, or 0 where e^x is below the smallest float64: there the library function takes ten times as long.
pub(crate) fn exp_or_nothing(x: f64) -> f64 {
    if x < -746.0 { 0.0 } else { x.exp() }
}

/// Returns e^(x²)·erfc(x) for x ≥ 0, to a relative precision of about 1e-15.
///
/// Above 3 it uses the continued fraction (Abramowitz and Stegun 1964, 7.1.14), evaluated from its end.
fn erfcx(x: f64) -> f64 {
    if x < ERFCX_FRACTION_FROM {
        return (x * x).exp() * libm::erfc(x);
    }
    let tail = (1..=80).rev().fold(x, |tail, k| x + 0.5 * f64::from(k) / tail);
    1.0 / (tail * PI.sqrt())
}

/// Returns the probability that a standard normal variable is above `x`.
pub(crate) fn normal_above(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Returns the quantile of the standard normal distribution at the probability `below`, in [0, 1]; ±∞ at the ends.
///
/// Abramowitz and Stegun 1964, 26.2.23, refined by three steps of Halley's method.
pub(crate) fn normal_quantile(below: f64) -> f64 {
    let tail = below.min(1.0 - below);
    if tail <= 0.0 {
        return if below <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let t = (-2.0 * tail.ln()).sqrt();
    let fraction = (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut x = t - fraction;
    for _ in 0..3 {
        let step = (normal_above(x) - tail) / normal_density(x);
        x += step / (1.0 - 0.5 * x * step);
    }
    if below < 0.5 { -x } else { x }
}

/// Returns the density of the standard normal distribution.
pub(crate) fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x - LN_SQRT_TWO_PI).exp()
}

/// Returns Mills' ratio P(X > x) / density(x) of a standard normal variable X, for x ≥ 0.
pub(crate) fn mills_ratio(x: f64) -> f64 {
    erfcx(x / SQRT_2) * (PI / 2.0).sqrt()
}

/// Returns the probability that a standard normal variable lies in `(low, high]`, to a small relative error.
///
/// For a narrow interval, the probability is approximated by the density at the middle times the width, with the next
/// term of the expansion. The difference of two nearly equal probabilities would have no correct digits.
pub(crate) fn normal_between(low: f64, high: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return 0.0;
    }
    let middle = 0.5 * (low + high);
    if width * (1.0 + middle.abs()) < 2e-3 {
        return normal_density(middle) * width * (1.0 + (middle * middle - 1.0) * width * width / 24.0);
    }
    if low > 0.0 {
        normal_above(low) - normal_above(high)
    } else if high < 0.0 {
        normal_above(-high) - normal_above(-low)
    } else {
        0.5 * (libm::erf(high * FRAC_1_SQRT_2) - libm::erf(low * FRAC_1_SQRT_2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(value: f64, expected: f64, relative: f64) -> bool {
        (value - expected).abs() <= relative * expected.abs()
    }

    // Values computed by mpmath with 30 digits.
    #[test]
    fn tails_keep_their_digits() {
        assert!(is_near(normal_above(10.0), 7.619_853_024_160_526e-24, 1e-13));
        assert!(is_near(mills_ratio(10.0), 0.099_028_596_471_731_92, 1e-13));
        assert!(is_near(mills_ratio(0.0), 1.253_314_137_315_500_3, 1e-14));
        assert!(is_near(erfcx(3.0), 0.179_001_151_181_389_98, 1e-13));
        assert!(is_near((9f64).exp() * libm::erfc(3.0), erfcx(3.0), 1e-12));
        assert!(is_near(erfcx(100.0), 0.005_641_613_782_989_433, 1e-14));
    }

    #[test]
    fn quantiles_undo_probabilities() {
        for probability in [1e-200, 1e-20, 1e-9, 0.02, 0.3, 0.5, 0.9, 0.999] {
            let x = normal_quantile(probability);
            assert!(is_near(normal_above(-x), probability, 1e-12), "{probability}: {x}");
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(is_near(normal_quantile(0.975), 1.959_963_984_540_054, 1e-14));
    }

    #[test]
    fn an_interval_is_the_sum_of_its_parts() {
        for (low, high) in [(-1.0, 2.0), (0.5, 0.6), (-9.0, -8.5), (5.0, 9.0), (-0.3, 0.0)] {
            let parts: f64 = (0..4096)
                .map(|i| {
                    let at = |i: i32| low + (high - low) * f64::from(i) / 4096.0;
                    normal_between(at(i), at(i + 1))
                })
                .sum();
            assert!(is_near(parts, normal_between(low, high), 1e-10), "{low} {high}");
        }
    }

    #[test]
    fn sums_in_log_space() {
        assert!(is_near(ln_add(-1000.0, -1000.0), -1000.0 + 2f64.ln(), 1e-15));
        assert_eq!(ln_add(f64::NEG_INFINITY, 3.0), 3.0);
        assert!(is_near(ln_exp_minus_one(1e-9), (1e-9f64).ln(), 1e-9));
    }
}
