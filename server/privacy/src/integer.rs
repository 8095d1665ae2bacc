//! From clipped float updates to integers whose L2 norm is certain, and from their norm to the noise.
//!
//! A clipping norm that holds for floats does not hold for what is summed: rounding to the grid moves every coordinate
//! by up to half a step. So the bound is computed for the integers, enforced on the integers, and the noise is sized
//! for it. All of a client's tensors are one vector here.

use crate::budget::RangeError;
use crate::noise::NoiseScale;
use crate::noise_multiplier::{NoiseMultiplier, Relation};

/// The largest clipping norm, in grid steps: squares of norms and sums of them stay within u128.
const STEPS_MAX: f64 = (1u64 << 46) as f64;

/// The largest number of coordinates.
const DIMENSION_MAX: u64 = 1 << 40;

/// Relative slack that covers the rounding of a few float64 operations.
const SLACK: f64 = 1.0 + 1e-14;

/// An update that cannot be clipped.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ClipError {
    /// A value is NaN or infinite. Noise would not hide it.
    #[error("value {index} is {value}; only finite values can be summed, leave this update out")]
    NotFinite {
        /// The place of the first such value.
        index: usize,
        /// What it is.
        value: f32,
    },
    /// There are more values than coordinates.
    #[error("the update has more than {dimension} values; leave it out")]
    TooLong {
        /// The number of coordinates.
        dimension: u64,
    },
}

/// A clipping norm on the fixed-point grid with the step 2^-fraction_bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridClip {
    clipping_norm: f64,
    fraction_bits: u32,
    dimension: u64,
    norm_max: u64,
}

impl GridClip {
    /// Derives the bounds for a clipping norm, a grid and the number of coordinates of all tensors together.
    ///
    /// # Errors
    /// [`RangeError`] if the norm is below one grid step or above 2^46 of them, or the dimension is 0 or above 2^40.
    pub fn new(clipping_norm: f64, fraction_bits: u32, dimension: u64) -> Result<Self, RangeError> {
        let steps = clipping_norm * f64::from(fraction_bits).exp2();
        let is_right = (1.0..=STEPS_MAX).contains(&steps);
        RangeError::unless(is_right, "clipping norm in grid steps", steps, "at least 1 and at most 2^46")?;
        let is_right = (1..=DIMENSION_MAX).contains(&dimension);
        RangeError::unless(
            is_right,
            "number of coordinates",
            dimension as f64,
            "at least 1 and at most 2^40",
        )?;
        let norm_max = (rounded_norm_bound(steps, dimension) * SLACK).ceil() as u64;
        Ok(Self { clipping_norm, fraction_bits, dimension, norm_max })
    }

    /// Returns the largest L2 norm of the integers, in grid steps: what [`GridClip::clip`] and [`NormCheck`] enforce.
    pub fn norm_max(&self) -> u64 {
        self.norm_max
    }

    /// Returns the L2 sensitivity of the integer sum to one participation, in grid steps.
    pub fn sensitivity(&self, relation: Relation) -> f64 {
        self.norm_max as f64 * relation.sensitivity_per_clipping_norm()
    }

    /// Derives the scale of the noise: multiplier · sensitivity, rounded up.
    ///
    /// # Errors
    /// [`RangeError`] if the noise is too small or too large for the grid.
    pub fn noise_scale(&self, multiplier: NoiseMultiplier) -> Result<NoiseScale, RangeError> {
        NoiseScale::new(multiplier.get() * self.sensitivity(multiplier.relation()) * SLACK)
    }

    /// Derives how many updates may be summed so that neither the sum nor the noise can leave i64.
    pub fn updates_max(&self, scale: NoiseScale) -> u64 {
        (i64::MAX - 2 * scale.reach()).unsigned_abs() / self.norm_max
    }

    /// Begins the check of an update's integers, piece by piece.
    pub fn norm_check(&self) -> NormCheck {
        NormCheck { squares: 0, squares_max: u128::from(self.norm_max).pow(2) }
    }

    /// Clips the values to the clipping norm, in L2, and brings them to the grid.
    ///
    /// Scaling, not truncation, keeps the direction. The norm of the integers is computed exactly and is at most
    /// [`GridClip::norm_max`], whatever the values are: where the rounding of floats made it larger, the values are
    /// rounded towards zero instead.
    ///
    /// # Errors
    /// [`ClipError`] if a value is NaN or infinite, or there are more values than coordinates.
    pub fn clip(&self, values: impl Iterator<Item = f32> + Clone) -> Result<Vec<i64>, ClipError> {
        let norm = self.float_norm(values.clone())?;
        let shrink = if norm > self.clipping_norm { self.clipping_norm / norm } else { 1.0 };
        let factor = shrink * f64::from(self.fraction_bits).exp2();
        let nearest = values.clone().map(|value| (f64::from(value) * factor).round_ties_even() as i64);
        if let Some(integers) = self.checked(nearest) {
            return Ok(integers);
        }
        let factor = factor * (1.0 - 1e-9);
        let inward = values.map(|value| (f64::from(value) * factor).trunc() as i64);
        let count = inward.clone().count();
        Ok(self.checked(inward).unwrap_or_else(|| vec![0; count]))
    }

    /// Returns the integers if their norm is within the bound.
    fn checked(&self, integers: impl Iterator<Item = i64>) -> Option<Vec<i64>> {
        let integers: Vec<i64> = integers.collect();
        let mut check = self.norm_check();
        check.add(&integers);
        check.is_within().then_some(integers)
    }

    /// Derives a norm that is not below the true one.
    fn float_norm(&self, values: impl Iterator<Item = f32>) -> Result<f64, ClipError> {
        let mut squares = 0.0;
        for (index, value) in values.enumerate() {
            if !value.is_finite() {
                return Err(ClipError::NotFinite { index, value });
            }
            if index as u64 >= self.dimension {
                return Err(ClipError::TooLong { dimension: self.dimension });
            }
            squares += f64::from(value) * f64::from(value);
        }
        // A square of a float32 is exact; each addition rounds by 2^-53 of the sum at most.
        Ok(squares.sqrt() * (1.0 + (self.dimension as f64 + 4.0) * f64::EPSILON))
    }
}

/// Bounds the L2 norm of a vector of norm `norm`, both in grid steps, after each coordinate was rounded to the nearest.
///
/// Every coordinate moves by at most 1/2, so the norm grows by at most √dimension / 2. And an integer that is not 0 came
/// from at least half of itself, so the norm at most doubles. (For stochastic rounding, which moves a coordinate by
/// up to 1, see Kairouz, Liu and Steinke 2021, "The distributed discrete Gaussian mechanism", proposition 22.)
pub fn rounded_norm_bound(norm: f64, dimension: u64) -> f64 {
    (norm + 0.5 * (dimension as f64).sqrt()).min(2.0 * norm)
}

/// The exact L2 norm of integers that come piece by piece, against the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormCheck {
    squares: u128,
    squares_max: u128,
}

impl NormCheck {
    /// Adds a piece.
    pub fn add(&mut self, integers: &[i64]) {
        for integer in integers {
            let magnitude = u128::from(integer.unsigned_abs());
            self.squares = self.squares.saturating_add(magnitude * magnitude);
        }
    }

    /// Says whether the norm of what came so far is within the bound. An update that is not must not be summed.
    pub fn is_within(&self) -> bool {
        self.squares <= self.squares_max
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn norm_squared(integers: &[i64]) -> u128 {
        integers.iter().map(|integer| u128::from(integer.unsigned_abs()).pow(2)).sum()
    }

    /// Any bits, so that subnormals, −0 and the largest values come up.
    fn any_finite() -> impl Strategy<Value = f32> {
        any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |value| value.is_finite())
    }

    proptest! {
        #[test]
        fn the_norm_of_the_integers_is_within_the_bound(
            values in prop::collection::vec(prop_oneof![any_finite(), -2.0f32..2.0], 1..200),
            norm in 1e-3f64..1e3,
            fraction_bits in 10u32..32,
        ) {
            let clip = GridClip::new(norm, fraction_bits, values.len() as u64).unwrap();
            let integers = clip.clip(values.iter().copied()).unwrap();
            prop_assert!(norm_squared(&integers) <= u128::from(clip.norm_max()).pow(2));
            prop_assert_eq!(integers.len(), values.len());
        }

        #[test]
        fn a_small_update_is_only_rounded(values in prop::collection::vec(-0.05f32..0.05, 1..300)) {
            let clip = GridClip::new(1.0, 28, 300).unwrap();
            for (integer, value) in clip.clip(values.iter().copied()).unwrap().into_iter().zip(&values) {
                prop_assert!((integer as f64 - f64::from(*value) * 28f64.exp2()).abs() <= 0.5);
            }
        }

        #[test]
        fn rounding_stays_below_its_bound(values in prop::collection::vec(-3.0f64..3.0, 1..100)) {
            let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
            let rounded = values.iter().map(|value| value.round().powi(2)).sum::<f64>().sqrt();
            prop_assert!(rounded <= rounded_norm_bound(norm, values.len() as u64) * SLACK);
        }
    }

    #[test]
    fn a_large_update_keeps_its_direction_and_gets_the_norm() {
        let clip = GridClip::new(1.0, 20, 2).unwrap();
        let integers = clip.clip([3e38f32, 4e37].into_iter()).unwrap();
        let norm = (norm_squared(&integers) as f64).sqrt() / 20f64.exp2();
        assert!((norm - 1.0).abs() < 1e-5);
        assert!((integers[0] as f64 / integers[1] as f64 - 7.5).abs() < 1e-3);
    }

    #[test]
    fn what_is_not_finite_or_too_long_is_refused_with_its_place() {
        let clip = GridClip::new(1.0, 20, 2).unwrap();
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = clip.clip([0.0, value].into_iter()).unwrap_err();
            assert!(error.to_string().starts_with("value 1 is "), "{error}");
        }
        assert_eq!(clip.clip([0.0; 3].into_iter()), Err(ClipError::TooLong { dimension: 2 }));
        assert_eq!(clip.clip([-0.0f32, 1e-45].into_iter()), Ok(vec![0, 0]));
    }

    #[test]
    fn the_check_of_pieces_is_exact_at_the_bound() {
        let clip = GridClip::new(1.0, 10, 1).unwrap();
        let mut check = clip.norm_check();
        check.add(&[]);
        check.add(&[-(clip.norm_max() as i64)]);
        assert!(check.is_within());
        check.add(&[1]);
        assert!(!check.is_within());
        let mut check = clip.norm_check();
        check.add(&[i64::MIN; 8]);
        assert!(!check.is_within());
    }

    #[test]
    fn the_noise_is_sized_for_what_is_enforced() {
        let clip = GridClip::new(0.5, 28, 1_000_000).unwrap();
        assert!(
            clip.norm_max() as f64 >= 27f64.exp2() + 500.0 && clip.norm_max() as f64 <= 27f64.exp2() + 502.0
        );
        for relation in [Relation::ZeroOut, Relation::AddOrRemove, Relation::ReplaceOne] {
            let multiplier = NoiseMultiplier::per_clipping_norm(1.5, relation).unwrap();
            let scale = clip.noise_scale(multiplier).unwrap();
            assert!(
                scale.get() >= 1.5 * clip.norm_max() as f64 && scale.get() < 1.5001 * clip.norm_max() as f64
            );
            assert!(clip.updates_max(scale) > 1 << 30);
        }
        for (norm, bits, dimension) in
            [(0.0, 28, 1), (f64::NAN, 28, 1), (1e-9, 20, 1), (1e9, 28, 1), (1.0, 28, 0)]
        {
            assert!(GridClip::new(norm, bits, dimension).is_err());
        }
    }
}
