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
}
