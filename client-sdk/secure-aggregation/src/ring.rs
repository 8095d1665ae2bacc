use folkmoot_protocol::{ValueGrid, secure::SecureTerms};

use crate::{NoiseShare, NoiseShareError};

/// The largest number of bits of a ring. A sum of its elements as signed 64-bit numbers never wraps before it is reduced.
const BITS_MAX: u32 = 62;
/// The smallest number of bits of a ring.
const BITS_MIN: u32 = 8;

/// The number of standard deviations of noise that fit into a ring, beside the updates. One value of a sum is farther out with
/// a probability below 1e-42 (the noise is subgaussian). It would wrap around, which makes it wrong but reveals no more.
const NOISE_DEVIATIONS: f64 = 14.0;

/// The integers modulo 2^bits, in which masked values are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    bits: u32,
}

/// No ring is large enough for the sum.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RingError {
    /// The sum needs too many bits.
    #[error(
        "the sum of {cohort} updates needs a ring of {bits} bits, but at most {BITS_MAX} are possible; use fewer fraction_bits, \
         or a smaller value_max, weight_max or cohort"
    )]
    Bits {
        /// The number of updates.
        cohort: u64,
        /// The number of bits.
        bits: u32,
    },
    /// The clients' noise is impossible.
    #[error(transparent)]
    Noise(#[from] NoiseShareError),
}

impl Ring {
    /// Returns the ring for sums under these terms, of updates with `parameter_count` values. With noise, it has room for the
    /// clipped updates and the noise of the whole cohort.
    ///
    /// # Errors
    /// [`RingError`] if the ring would need more than 62 bits, or no noise fits the terms.
    pub fn for_terms(grid: &ValueGrid, terms: &SecureTerms, parameter_count: u64) -> Result<Self, RingError> {
        let cohort = terms.cohort_max;
        let Some(share) = NoiseShare::of(terms, parameter_count).transpose()? else {
            return Self::for_sum(&terms.grid(grid), cohort);
        };
        let noise = NOISE_DEVIATIONS * (cohort as f64).sqrt() * share.scale as f64;
        Self::holding(u128::from(share.norm_max) * u128::from(cohort) + noise.ceil() as u128, cohort)
    }

    /// Returns the smallest ring in which the sum of `cohort` updates on this grid cannot wrap: 2^bits exceeds
    /// 2 · cohort · weight_max · value_max · 2^fraction_bits.
    ///
    /// # Errors
    /// [`RingError`] if the ring would need more than 62 bits.
    pub fn for_sum(grid: &ValueGrid, cohort: u64) -> Result<Self, RingError> {
        let steps = (f64::from(grid.value_max) * f64::from(grid.fraction_bits).exp2()).ceil();
        // A step more for each update, because stochastic rounding may round up.
        let largest = (steps as u128)
            .checked_mul(grid.weight_max.into())
            .and_then(|largest| largest.checked_add(1)?.checked_mul(cohort.into()))
            .unwrap_or(u128::MAX);
        Self::holding(largest, cohort)
    }

    /// Returns the smallest ring that holds sums of at most this magnitude.
    fn holding(largest: u128, cohort: u64) -> Result<Self, RingError> {
        let bits = (u128::BITS - largest.leading_zeros() + 1).max(BITS_MIN);
        if bits > BITS_MAX { Err(RingError::Bits { cohort, bits }) } else { Ok(Self { bits }) }
    }

    /// Returns the number of bits of an element.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number of mask bytes for one element: 4 or 8.
    pub(crate) fn word_bytes(self) -> usize {
        if self.bits <= 32 { 4 } else { 8 }
    }

    /// Reduces a number modulo 2^bits.
    #[inline]
    pub fn reduce(self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.bits))
    }

    /// Returns the signed number of smallest magnitude that an element stands for.
    #[inline]
    pub fn lift(self, element: u64) -> i64 {
        let unused = 64 - self.bits;
        ((element << unused) as i64) >> unused
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::secure::{DistributedNoise, Threat};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ring_holds_the_largest_sum_of_either_sign() {
        for (fraction_bits, value_max, weight_max, cohort) in
            [(28, 16.0, 10_000, 1000), (16, 1.0, 1, 100), (8, 0.5, 1, 3), (20, 4.0, 7, 777)]
        {
            let grid = ValueGrid { fraction_bits, value_max, weight_max };
            let ring = Ring::for_sum(&grid, cohort).unwrap();
            let most = (f64::from(value_max) * f64::from(fraction_bits).exp2()) as i64 * weight_max as i64;
            for sum in [most * cohort as i64, -most * cohort as i64] {
                assert_eq!(ring.lift(ring.reduce(sum as u64)), sum);
            }
        }
        let grid = ValueGrid { fraction_bits: 40, value_max: 16.0, weight_max: 100_000 };
        assert_eq!(Ring::for_sum(&grid, 1000), Err(RingError::Bits { cohort: 1000, bits: 72 }));
    }

    #[test]
    fn a_ring_has_room_for_the_noise_of_the_whole_cohort() {
        let grid = ValueGrid { fraction_bits: 12, value_max: 16.0, weight_max: 10_000 };
        let noise = Some(DistributedNoise { clipping_norm: 4096, noise_multiplier: 1.0 });
        let terms = SecureTerms {
            cohort_min: 100,
            cohort_max: 100,
            corrupt_share: 0.0,
            dropout_share: 0.2,
            threat: Threat::HonestButCurious,
            is_weighted: false,
            noise,
        };
        // 100 updates of up to 4,128 steps are 412,800; 14 deviations of noise are 57,960: together below 2^19.
        assert_eq!(Ring::for_terms(&grid, &terms, 1_000_000).unwrap().bits(), 20);
        let plain = SecureTerms { noise: None, ..terms };
        // Without noise, values up to 16 instead of a norm of 1 must fit.
        assert_eq!(Ring::for_terms(&grid, &plain, 1_000_000).unwrap().bits(), 24);
    }

    proptest! {
        #[test]
        fn sums_in_the_ring_are_sums(values in prop::collection::vec(-1_000_000i64..1_000_000, 1..50)) {
            let ring = Ring { bits: 28 };
            let sum = values.iter().fold(0u64, |sum, value| ring.reduce(sum.wrapping_add(*value as u64)));
            prop_assert_eq!(ring.lift(sum), values.iter().sum::<i64>());
        }
    }
}
