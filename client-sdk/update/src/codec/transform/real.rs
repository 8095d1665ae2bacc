use std::ops::{Add, AddAssign, Mul};

/// The number type of the kernels: float32 in the codecs, and float64 in tests that check only the formula.
pub(crate) trait Real:
    Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> + AddAssign
{
    const ZERO: Self;

    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;

    /// Converts to float64, which is exact.
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}
