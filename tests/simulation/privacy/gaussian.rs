//! Computes the exact privacy of the Gaussian mechanism (Balle and Wang 2018, "Improving the Gaussian mechanism for
//! differential privacy", theorem 8). This module shares no code with `server/privacy`.

use std::f64::consts::{PI, SQRT_2};

/// Below this argument, the logarithm of the distribution function is computed from its asymptotic series, because the
/// function underflows in float64.
const FAR: f64 = -30.0;
/// The number of bisection steps in the search for epsilon.
const HALVINGS: u32 = 60;

/// Returns the cumulative distribution function of the standard normal distribution.
pub fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// Returns the natural logarithm of [`normal`], for any `x`.
fn log_normal(x: f64) -> f64 {
    if x > FAR {
        return normal(x).ln();
    }
    let square = x * x;
    -square / 2.0 - (-x).ln() - (2.0 * PI).ln() / 2.0 + (-1.0 / square + 2.5 / (square * square)).ln_1p()
}

/// Returns delta at `epsilon`, for a Gaussian whose mean is shifted by `shift` standard deviations by one unit.
pub fn delta(shift: f64, epsilon: f64) -> f64 {
    if shift <= 0.0 {
        return 0.0;
    }
    let far = epsilon / shift;
    normal(shift / 2.0 - far) - (epsilon + log_normal(-shift / 2.0 - far)).exp()
}

/// Returns epsilon at the delta `at`, for a Gaussian whose mean is shifted by `shift` standard deviations by one unit.
pub fn epsilon(shift: f64, at: f64) -> f64 {
    largest(|epsilon| delta(shift, epsilon) > at)
}

/// Returns the largest number, at least 0, for which `is_so` is true. `is_so` must be true up to that number and false
/// above it.
pub fn largest(is_so: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    if !is_so(0.0) {
        return 0.0;
    }
    while is_so(high) && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if is_so(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with published values (noise multiplier, releases, delta, epsilon) from the exact analysis in
    /// dp-accounting 0.6.0.
    #[test]
    fn it_is_the_published_epsilon() {
        for (multiplier, releases, at, published) in [
            (0.9, 1.0, 1e-5, 4.947_319_283_706_523),
            (0.9, 20.0, 1e-8, 39.564_321_071_136_5),
            (0.9, 300.0, 1e-5, 266.360_320_913_647_7),
            (3.0, 1.0, 1e-8, 1.754_280_504_716_94),
            (3.0, 20.0, 1e-5, 6.999_226_690_270_1),
        ] {
            let found = epsilon(f64::sqrt(releases) / multiplier, at);
            assert!((found / published - 1.0).abs() < 1e-6, "{multiplier} {releases} {at}: {found}");
        }
    }

    /// Compares with published values of Balle and Wang 2018: the smallest noise for one release.
    #[test]
    fn it_is_the_published_noise() {
        for (epsilon_of, at, multiplier) in [
            (0.3, 1e-5, 11.238_044_464_492_94),
            (3.0, 1e-7, 1.685_859_748_613_404),
            (10.0, 1e-5, 0.499_888_619_709_032),
        ] {
            assert!((epsilon(1.0 / multiplier, at) / epsilon_of - 1.0).abs() < 1e-6, "{epsilon_of} {at}");
        }
    }

    #[test]
    fn both_forms_of_the_logarithm_meet() {
        for x in [-29.0, -31.0] {
            let direct: f64 = normal(x).ln();
            let square: f64 = x * x;
            let series = -square / 2.0 - (-x).ln() - (2.0 * PI).ln() / 2.0 - 1.0 / square;
            assert!((direct - series).abs() < 1e-5 && (log_normal(x) - direct).abs() < 1e-5, "{x}");
        }
    }
}
