//! Seeded pseudorandom choices, which have the same result on every machine.

/// The increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the pseudorandom number at `index` of the sequence that belongs to `seed`.
///
/// This is output `index` of SplitMix64, counted from 0 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
/// generators").
pub(super) fn number_at(seed: u64, index: u64) -> u64 {
    let state = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns the number at `index` as a fraction in [0, 1), with 53 bits.
pub(super) fn fraction_at(seed: u64, index: u64) -> f64 {
    (number_at(seed, index) >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns the number at `index` of a sequence of independent standard normal numbers (Box and Muller 1958). It has the same bits
/// on every machine.
pub(super) fn normal_at(seed: u64, index: u64) -> f64 {
    let (length, angle) = (fraction_at(seed, 2 * index), fraction_at(seed, 2 * index + 1));
    // 1 − length is above 0, so its logarithm is finite.
    libm::sqrt(-2.0 * libm::log(1.0 - length)) * libm::cos(std::f64::consts::TAU * angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of SplitMix64 with the seed 1234567, as in the test vectors of its authors.
    #[test]
    fn the_sequence_is_splitmix64() {
        let found = [0, 1, 2].map(|index| number_at(1_234_567, index));
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn fractions_are_spread_over_the_unit_interval() {
        let below = (0..10_000).filter(|index| fraction_at(7, *index) < 0.1).count();
        assert!((900..1_100).contains(&below), "{below}");
        assert_eq!(fraction_at(7, u64::MAX), fraction_at(7, u64::MAX), "no index overflows");
    }

    /// In Python, the mean is 0.0041, the standard deviation 1.0007, and the fourth moment 3.025.
    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_distribution() {
        let numbers: Vec<f64> = (0..100_000).map(|index| normal_at(1, index)).collect();
        let moment = |power: i32| numbers.iter().map(|number| number.powi(power)).sum::<f64>() / 100_000.0;
        let found = [1, 2, 4].map(moment);
        assert!(
            found.iter().zip([0.0, 1.0, 3.0]).all(|(one, other)| (one - other).abs() < 0.03),
            "{found:?}"
        );
    }
}
