//! Element types of the CPU executor: `f32` for training, `f64` for gradient checks and constant folding.
#![allow(clippy::excessive_precision, reason = "coefficients keep all published digits")]

mod trigonometry;

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A floating-point type with the functions that kernels need, written so that loops over them vectorise.
pub trait Element:
    Copy
    + Default
    + PartialOrd
    + Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// −∞
    const LOWEST: Self;
    /// ∞
    const HIGHEST: Self;
    /// The nearest number of this type.
    fn from_f64(number: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// `|x|`
    fn absolute(self) -> Self;
    /// `e^x`
    fn exponential(self) -> Self;
    /// The natural logarithm; NaN below 0.
    fn logarithm(self) -> Self;
    /// `√x`; NaN below 0.
    fn square_root(self) -> Self;
    /// `tanh x`
    fn hyperbolic_tangent(self) -> Self;
    /// `erf x`
    fn error_function(self) -> Self;
    /// `sin x`
    fn sine(self) -> Self;
    /// `cos x`
    fn cosine(self) -> Self;
    /// The largest integer less than or equal to this number.
    fn floor(self) -> Self;
    /// Rounds towards 0.
    fn truncate(self) -> Self;
    /// `x^exponent`
    fn power(self, exponent: Self) -> Self;
    /// `self · factor + addend`, with a single rounding if the CPU has fused multiply-add.
    fn multiply_add(self, factor: Self, addend: Self) -> Self;

    /// `1 / (1 + e^-x)`
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exponential())
    }
}

impl Element for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f64::NEG_INFINITY;
    const HIGHEST: Self = f64::INFINITY;

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn absolute(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn logarithm(self) -> Self {
        self.ln()
    }
    #[inline(always)]
    fn square_root(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        self.tanh()
    }
    fn error_function(self) -> Self {
        erf_by_series(self)
    }
    #[inline(always)]
    fn sine(self) -> Self {
        self.sin()
    }
    #[inline(always)]
    fn cosine(self) -> Self {
        self.cos()
    }
    #[inline(always)]
    fn floor(self) -> Self {
        f64::floor(self)
    }
    #[inline(always)]
    fn truncate(self) -> Self {
        self.trunc()
    }
    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }
    #[inline(always)]
    fn multiply_add(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
}

impl Element for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const LOWEST: Self = f32::NEG_INFINITY;
    const HIGHEST: Self = f32::INFINITY;

    #[inline(always)]
    fn from_f64(number: f64) -> Self {
        number as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn absolute(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn exponential(self) -> Self {
        exp_f32(self)
    }
    #[inline(always)]
    fn logarithm(self) -> Self {
        ln_f32(self)
    }
    #[inline(always)]
    fn square_root(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        tanh_f32(self)
    }
    #[inline(always)]
    fn error_function(self) -> Self {
        erf_f32(self)
    }
    #[inline(always)]
    fn sine(self) -> Self {
        trigonometry::sine(self)
    }
    #[inline(always)]
    fn cosine(self) -> Self {
        trigonometry::cosine(self)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        f32::floor(self)
    }
    #[inline(always)]
    fn truncate(self) -> Self {
        self.trunc()
    }
    #[inline(always)]
    fn power(self, exponent: Self) -> Self {
        self.powf(exponent)
    }
    #[inline(always)]
    fn multiply_add(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
}

/// Evaluates a polynomial, highest power first.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    coefficients.into_iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// `e^x` to about one unit in the last place; 0 below -86.6. Reduces by `x = n ln 2 + r` and uses the minimax
/// polynomial of Moshier's Cephes (`expf`).
#[inline(always)]
fn exp_f32(x: f32) -> f32 {
    /// Adding this number leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let clamped = x.clamp(-87.0, 88.722_84);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = clamped - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let tail =
        polynomial(r, [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5]);
    let mantissa = tail * r * r + r + 1.0;
    // 2^(n-1), then times two: 2^128 alone would be infinite.
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(126) << 23);
    let inside = mantissa * scale * 2.0;
    let below = if x < -86.6 { 0.0 } else { inside };
    if x > 88.722_84 { f32::INFINITY } else { below }
}

/// The natural logarithm to about one unit in the last place, after Cephes (`logf`).
#[inline(always)]
fn ln_f32(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 16_777_216.0 } else { x };
    let bits = scaled.to_bits();
    // Brings the mantissa into [√½, √2).
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let exponent = (shifted as i32 >> 23) as f32 - if tiny { 24.0 } else { 0.0 };
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    let z = m * m;
    let series = polynomial(
        m,
        [
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_7e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333_1e-1,
        ],
    );
    let y = series * m * z + exponent * -2.121_944_4e-4 - 0.5 * z;
    let regular = m + y + exponent * 0.693_359_4;
    let positive = if x == f32::INFINITY { x } else { regular };
    let nonnegative = if x == 0.0 { f32::NEG_INFINITY } else { positive };
    if x < 0.0 || x.is_nan() { f32::NAN } else { nonnegative }
}

/// The hyperbolic tangent: a polynomial near 0 (Cephes, `tanhf`), the exponential elsewhere.
#[inline(always)]
fn tanh_f32(x: f32) -> f32 {
    let z = x * x;
    let near =
        polynomial(z, [-5.704_988_7e-3, 2.063_908_9e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328_2e-1])
            * z
            * x
            + x;
    let magnitude = x.abs();
    let far = (1.0 - 2.0 / (exp_f32(magnitude + magnitude) + 1.0)).copysign(x);
    if magnitude < 0.625 { near } else { far }
}

/// The error function: its Taylor series near 0; elsewhere Abramowitz and Stegun 7.1.26 (error below 1.5e-7).
#[inline(always)]
fn erf_f32(x: f32) -> f32 {
    let z = x * x;
    let near = x * polynomial(
        z,
        [
            -8.548_327e-4,
            5.223_977_6e-3,
            -2.686_617_1e-2,
            1.128_379_2e-1,
            -3.761_263_9e-1,
            std::f32::consts::FRAC_2_SQRT_PI,
        ],
    );
    let magnitude = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * magnitude);
    let tail = polynomial(t, [1.061_405_4, -1.453_152, 1.421_413_8, -2.844_967_4e-1, 2.548_295_9e-1]) * t;
    let far = (1.0 - tail * exp_f32(-z)).copysign(x);
    if magnitude < 0.5 { near } else { far }
}

/// The error function in double precision, by a series whose terms are all positive:
/// `2/√π · e^(-x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!` (Abramowitz and Stegun 7.1.6).
fn erf_by_series(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return 1f64.copysign(x);
    }
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the largest error over many points, relative to the larger of the result and `floor`.
    fn worst(from: f64, to: f64, floor: f64, own: fn(f32) -> f32, reference: fn(f64) -> f64) -> f64 {
        let points = (0..=200_000).map(|i| (from + (to - from) * f64::from(i) / 200_000.0) as f32);
        let error = |x: f32| {
            let expected = reference(f64::from(x));
            (f64::from(own(x)) - expected).abs() / expected.abs().max(floor)
        };
        points.map(error).fold(0.0, f64::max)
    }

    #[test]
    fn functions_agree_with_double_precision() {
        assert!(worst(-86.0, 88.7, 0.0, exp_f32, f64::exp) < 2e-7);
        assert!(worst(1e-6, 1e3, 1e-2, ln_f32, f64::ln) < 2e-7);
        assert!(worst(-12.0, 12.0, 0.0, tanh_f32, f64::tanh) < 3e-7);
        assert!(worst(-6.0, 6.0, 0.1, erf_f32, erf_by_series) < 3e-6);
        assert!(worst(-0.4, 0.4, 0.0, erf_f32, erf_by_series) < 3e-7);
    }

    #[test]
    fn the_ends_of_the_range_are_kept() {
        assert_eq!(exp_f32(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
        assert!(exp_f32(f32::NAN).is_nan() && ln_f32(f32::NAN).is_nan() && tanh_f32(f32::NAN).is_nan());
        assert_eq!(ln_f32(0.0), f32::NEG_INFINITY);
        assert!(ln_f32(-1.0).is_nan());
        assert!((ln_f32(1e-40) - (1e-40f64.ln() as f32)).abs() < 1e-4);
        assert_eq!((tanh_f32(100.0), tanh_f32(-100.0)), (1.0, -1.0));
        assert!((erf_by_series(1.0) - 0.842_700_792_949_714_9).abs() < 1e-15);
    }
}
