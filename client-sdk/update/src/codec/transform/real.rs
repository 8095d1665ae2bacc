use std::ops::{Add, AddAssign, Mul};

/// The numbers that the kernels compute with: float32 in the codecs, float64 where a test wants to see the
/// formula alone.
pub(crate) trait Real:
    Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> + AddAssign
{
    /// Zero.
    const ZERO: Self;

    /// Rounds to this precision.
    fn from_f64(value: f64) -> Self;

    /// Widens.
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
