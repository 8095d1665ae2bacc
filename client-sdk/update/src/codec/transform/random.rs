//! The random numbers of the codecs, whose stream is part of the wire format.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"): a counter and a
//! key give four words, independently of earlier calls. The key is the payload's seed. The counter is (block, tile,
//! tensor, purpose). Sixteen blocks form a group of 64 words: word `64 · g + 16 · j + l` is word `j` of block
//! `16 · g + l`. Sixteen lanes write words in this order.

/// The number of blocks computed in parallel.
const LANES: usize = 16;
/// The number of words per group.
const GROUP: usize = 4 * LANES;

/// The purpose of random numbers. Each purpose has its own stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Purpose {
    /// The initial states of [`Chances`].
    Rounding = 0,
    /// The signs of a rotation.
    Signs = 1,
    /// The elements that random-k selects.
    Choice = 2,
    /// The starting factor of a power iteration, which no decoder needs.
    Start = 3,
}

/// The position of a tile in an update, and the payload's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The payload's seed.
    pub seed: u64,
    /// The tensor's index.
    pub tensor: u32,
    /// The tile's index in its tensor.
    pub tile: u32,
}

impl Place {
    /// Returns the random words of this tile for one purpose.
    pub fn stream(self, purpose: Purpose) -> Stream {
        Stream { place: self, purpose, group: 0, words: [0; GROUP], used: GROUP }
    }

    /// Returns this tile's random numbers for stochastic rounding.
    pub fn chances(self) -> Chances {
        let words = self.stream(Purpose::Rounding).next_group();
        let word = |at: usize| std::array::from_fn(|lane| words[LANES * at + lane]);
        Chances { states: std::array::from_fn(word) }
    }
}

/// A stream of random words.
pub(crate) struct Stream {
    place: Place,
    purpose: Purpose,
    group: u32,
    words: [u32; GROUP],
    used: usize,
}

impl Stream {
    /// Fills whole groups, starting at the stream's next group. Unused words of the last group are dropped.
    pub fn fill(&mut self, words: &mut [u32]) {
        crate::codec::vectorised(
            #[inline(always)]
            || {
                let (groups, rest) = words.as_chunks_mut::<GROUP>();
                for words in groups {
                    *words = self.next_group();
                }
                if !rest.is_empty() {
                    rest.copy_from_slice(&self.next_group()[..rest.len()]);
                }
            },
        );
    }

    /// Draws an integer below `bound`, which must be above 0: the high half of a 64-bit word times the bound. It is
    /// uniform up to 2^-64 · bound (Lemire 2019, without the rejection).
    pub fn below(&mut self, bound: u32) -> u32 {
        let word = u64::from(self.word()) | u64::from(self.word()) << 32;
        ((u128::from(word) * u128::from(bound)) >> 64) as u32
    }

    /// Draws -1 or 1.
    pub fn sign(&mut self) -> f32 {
        if self.word() & 1 == 0 { 1.0 } else { -1.0 }
    }

    fn word(&mut self) -> u32 {
        if self.used == GROUP {
            self.words = self.next_group();
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    #[inline(always)]
    fn next_group(&mut self) -> [u32; GROUP] {
        let first = self.group * LANES as u32;
        self.group += 1;
        let blocks = std::array::from_fn(|lane| first + lane as u32);
        let counter =
            [blocks, [self.place.tile; LANES], [self.place.tensor; LANES], [self.purpose as u32; LANES]];
        let words = philox(counter, [self.place.seed as u32, (self.place.seed >> 32) as u32]);
        let mut group = [0; GROUP];
        for (part, lanes) in group.as_chunks_mut::<LANES>().0.iter_mut().zip(words) {
            *part = lanes;
        }
        group
    }
}

/// Random numbers for stochastic rounding. No decoder needs them, so they need not be reproducible by position. The
/// generator is xoshiro128++ (Blackman and Vigna 2021, "Scrambled linear pseudorandom number generators"), which needs
/// neither multiplications nor 64-bit words. It runs in sixteen lanes whose states come from the stream. Half
/// `32 · n + l` is the lower half of lane `l`'s n-th word, and half `32 · n + 16 + l` its upper half.
pub(crate) struct Chances {
    states: [[u32; LANES]; 4],
}

impl Chances {
    /// Fills a slice of 16-bit numbers.
    pub fn fill(&mut self, halves: &mut [u16]) {
        crate::codec::vectorised(
            #[inline(always)]
            || {
                let mut states = self.states;
                let (turns, rest) = halves.as_chunks_mut::<{ 2 * LANES }>();
                for halves in turns {
                    *halves = next_halves(&mut states);
                }
                if !rest.is_empty() {
                    rest.copy_from_slice(&next_halves(&mut states)[..rest.len()]);
                }
                self.states = states;
            },
        );
    }
}

#[inline(always)]
fn next_halves([s0, s1, s2, s3]: &mut [[u32; LANES]; 4]) -> [u16; 2 * LANES] {
    let mut halves = [0; 2 * LANES];
    let (lower, upper) = halves.split_at_mut(LANES);
    for lane in 0..LANES {
        let word = s0[lane].wrapping_add(s3[lane]).rotate_left(7).wrapping_add(s0[lane]);
        let shifted = s1[lane] << 9;
        s2[lane] ^= s0[lane];
        s3[lane] ^= s1[lane];
        s1[lane] ^= s2[lane];
        s0[lane] ^= s3[lane];
        s2[lane] ^= shifted;
        s3[lane] = s3[lane].rotate_left(11);
        (lower[lane], upper[lane]) = (word as u16, (word >> 16) as u16);
    }
    halves
}

/// Ten rounds per lane, with the paper's constants.
#[inline(always)]
fn philox(mut counter: [[u32; LANES]; 4], mut key: [u32; 2]) -> [[u32; LANES]; 4] {
    for _ in 0..10 {
        let mut next = [[0; LANES]; 4];
        for lane in 0..LANES {
            let first = u64::from(counter[0][lane]) * 0xD251_1F53;
            let second = u64::from(counter[2][lane]) * 0xCD9E_8D57;
            next[0][lane] = (second >> 32) as u32 ^ counter[1][lane] ^ key[0];
            next[1][lane] = second as u32;
            next[2][lane] = (first >> 32) as u32 ^ counter[3][lane] ^ key[1];
            next[3][lane] = first as u32;
        }
        counter = next;
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    fn philox_of(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
        philox(counter.map(|word| [word; LANES]), key).map(|lanes| lanes[7])
    }

    #[test]
    fn it_is_philox() {
        // The known answers that are published with the paper's code, for 10 rounds.
        let zero = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        assert_eq!(philox_of([0; 4], [0; 2]), zero);
        let ones = [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd];
        assert_eq!(philox_of([u32::MAX; 4], [u32::MAX; 2]), ones);
        let pi = philox_of([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn the_order_of_the_words_is_the_written_one() {
        let place = Place { seed: 0x0123_4567_89ab_cdef, tensor: 3, tile: 5 };
        let mut words = [0; 150];
        place.stream(Purpose::Signs).fill(&mut words);
        for (index, word) in words.iter().enumerate() {
            let (group, part, lane) = (index / 64, index % 64 / 16, index % 16);
            let block = (16 * group + lane) as u32;
            assert_eq!(*word, philox_of([block, 5, 3, 1], [0x89ab_cdef, 0x0123_4567])[part], "{index}");
        }
        let mut stream = place.stream(Purpose::Signs);
        assert_eq!([(); 70].map(|()| stream.word()), words[..70]);
    }

    #[test]
    fn chances_are_those_of_xoshiro() {
        // The first words from the state (1, 2, 3, 4), by the recurrence of the paper.
        let mut states = [1, 2, 3, 4].map(|word| [word; LANES]);
        let words = [(); 4].map(|()| {
            let halves = next_halves(&mut states);
            u32::from(halves[5]) | u32::from(halves[LANES + 5]) << 16
        });
        assert_eq!(words, [641, 1_573_767, 3_222_811_527, 3_517_856_514]);
        let place = Place { seed: 9, tensor: 1, tile: 2 };
        let (mut chances, mut halves) = (place.chances(), [0; 200]);
        let mut first = [0; 32];
        place.chances().fill(&mut first);
        chances.fill(&mut halves);
        assert_eq!(halves[..32], first);
        assert_ne!(halves[32..64], first);
    }

    #[test]
    fn chances_are_even() {
        let mut halves = vec![0; 1 << 20];
        Place { seed: 4, tensor: 0, tile: 0 }.chances().fill(&mut halves);
        // A chi-square test of the 256 values of the upper byte: 255 degrees of freedom, standard deviation 22.6. One
        // seed in 10^6 exceeds five standard deviations; this seed is fixed. The second test does the same for pairs of
        // numbers that follow each other in one lane.
        let squares = |values: &mut dyn Iterator<Item = usize>| {
            let mut counts = [0f64; 256];
            let mut all = 0.0;
            values.for_each(|value| (counts[value], all) = (counts[value] + 1.0, all + 1.0));
            let expected = all / 256.0;
            counts.iter().map(|count| (count - expected).powi(2) / expected).sum::<f64>()
        };
        let alone = squares(&mut halves.iter().map(|half| usize::from(half >> 8)));
        let pairs =
            halves.iter().zip(&halves[32..]).map(|(now, next)| usize::from(now >> 12 << 4 | next >> 12));
        let together = squares(&mut { pairs });
        assert!(alone < 255.0 + 113.0 && together < 255.0 + 113.0, "{alone} {together}");
    }

    #[test]
    fn numbers_keep_below_their_bound() {
        let mut stream = Place { seed: 1, tensor: 0, tile: 0 }.stream(Purpose::Choice);
        let mut counts = [0u32; 7];
        for _ in 0..7000 {
            counts[stream.below(7) as usize] += 1;
        }
        // The counts are binomial with standard deviation 29. One seed in 10^6 exceeds five standard deviations; this
        // seed is fixed.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
    }
}
