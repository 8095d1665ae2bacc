use std::convert::Infallible;

use rand::TryRng;

/// The increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random number generator of one purpose: a function of a seed and of words that name the purpose.
///
/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"), started at a hash of the
/// words. Creating a stream costs a few multiplications, so a hundred thousand clients need no stored state. Use it for
/// simulations only: anyone who sees its numbers can predict the next ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// Starts the stream of `purpose` under `seed`. Different words, or the same words in another order, give a
    /// different stream.
    pub fn new(seed: u64, purpose: &[u64]) -> Self {
        let mut state = mix(seed.wrapping_add(GOLDEN));
        for word in purpose {
            state = mix((state ^ word).wrapping_add(GOLDEN));
        }
        Self { state }
    }
}

/// The finaliser of SplitMix64. Similar inputs give unrelated outputs.
fn mix(word: u64) -> u64 {
    let mut mixed = word;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.state = self.state.wrapping_add(GOLDEN);
        Ok(mix(self.state))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::Rng;

    use super::*;

    #[test]
    fn it_is_splitmix64() {
        // The first numbers from state 0, as published with the reference implementation.
        let mut stream = Stream { state: 0 };
        assert_eq!(stream.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(stream.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn every_purpose_has_a_stream_of_its_own() {
        let mut seen = BTreeSet::new();
        for seed in 0..10 {
            for client in 0..100 {
                for purpose in 0..10 {
                    seen.insert(Stream::new(seed, &[client, purpose]).next_u64());
                }
            }
        }
        assert_eq!(seen.len(), 10_000);
        assert_ne!(Stream::new(1, &[2, 3]), Stream::new(1, &[3, 2]));
        assert_ne!(Stream::new(1, &[0]), Stream::new(1, &[]));
    }

    #[test]
    fn neighbouring_clients_are_not_correlated() {
        // The correlation of 10 000 independent pairs has a standard deviation of 0.01. The tolerance is five standard
        // deviations; a correct implementation fails once in two million runs.
        let sample = |client| super::super::standard_normal(&mut Stream::new(7, &[client, 1]));
        let products: f64 = (0..10_000).map(|client| sample(client) * sample(client + 1)).sum();
        assert!((products / 10_000.0).abs() < 0.05, "{products}");
    }

    #[test]
    fn bytes_are_filled_to_the_last() {
        let mut bytes = [0; 19];
        Stream::new(1, &[]).fill_bytes(&mut bytes);
        assert!(bytes[16..].iter().any(|byte| *byte != 0));
    }
}
