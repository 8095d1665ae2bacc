//! Pseudo-random numbers that are the same in every run.

/// A random number generator (SplitMix64).
pub struct Draws(u64);

impl Draws {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed << 40)
    }

    /// Returns a number uniformly distributed between 0 and 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 24) as f32
    }

    /// Returns an integer uniformly distributed below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.bits() % u64::from(bound)) as u32
    }

    /// Returns the next number of SplitMix64.
    fn bits(&mut self) -> u64 {
        self.0 += 1;
        let mut mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
