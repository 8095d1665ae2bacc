//! Masks: pseudo-random ring elements from a seed, by ChaCha20 (RFC 8439), for any range of the vector.

use chacha20::{
    ChaCha20,
    cipher::{KeyIvInit, StreamCipher, StreamCipherSeek},
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{Ring, pack, packed_bytes};

/// The number of elements that are expanded at a time. Their key stream stays in the first cache.
const TILE: usize = 2048;
/// The number of values that are masked and packed at a time, a multiple of 8.
const PACKED_TILE: usize = 1 << 14;

/// The two parts of a masked vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The values of the update, in this ring.
    Values(Ring),
    /// The weight and the metrics, as 64-bit numbers.
    Extras,
}

impl Segment {
    fn nonce(self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[0] = u8::from(self == Segment::Extras);
        nonce
    }

    fn word_bytes(self) -> usize {
        match self {
            Segment::Values(ring) => ring.word_bytes(),
            Segment::Extras => 8,
        }
    }
}

/// The seed of one mask.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct MaskSeed(pub [u8; 32]);

/// The sign with which a mask enters a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    pub fn opposite(self) -> Self {
        match self {
            Sign::Plus => Sign::Minus,
            Sign::Minus => Sign::Plus,
        }
    }
}

/// Masks that are added to a vector, or removed from a sum.
#[derive(Clone, Default)]
pub struct Masks {
    pub(crate) masks: Vec<(MaskSeed, Sign)>,
}

impl Masks {
    pub(crate) fn push(&mut self, seed: MaskSeed, sign: Sign) {
        self.masks.push((seed, sign));
    }

    /// Returns the number of masks.
    pub fn len(&self) -> usize {
        self.masks.len()
    }

    /// Returns whether there are no masks.
    pub fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }

    /// Masks an update and packs it: the values in the ring, then the extras as 64-bit numbers.
    pub fn mask(&self, ring: Ring, values: &[i64], extras: &[u64]) -> Vec<u8> {
        let length = packed_bytes(ring, values.len() as u64) as usize + extras.len() * 8;
        let mut bytes = Vec::with_capacity(length);
        let mut elements = vec![0; PACKED_TILE.min(values.len())];
        for (tile, values) in values.chunks(PACKED_TILE).enumerate() {
            let elements = &mut elements[..values.len()];
            elements.iter_mut().zip(values).for_each(|(element, value)| *element = *value as u64);
            self.add_to(Segment::Values(ring), (tile * PACKED_TILE) as u64, elements);
            pack(ring, elements, &mut bytes);
        }
        let mut masked = extras.to_vec();
        self.add_to(Segment::Extras, 0, &mut masked);
        bytes.extend(masked.iter().flat_map(|extra| extra.to_le_bytes()));
        elements.zeroize();
        bytes
    }

    /// Adds the masks to `elements`: the part of the vector that begins at index `first`. The result is not reduced:
    /// reduce it modulo the ring. Ranges are independent, so threads can share a vector, and no range needs memory for
    /// another.
    pub fn add_to(&self, segment: Segment, first: u64, elements: &mut [u64]) {
        let mut stream = vec![0; TILE.min(elements.len()) * segment.word_bytes()];
        for (index, tile) in elements.chunks_mut(TILE).enumerate() {
            for (seed, sign) in &self.masks {
                let at = first + (index * TILE) as u64;
                let stream = &mut stream[..tile.len() * segment.word_bytes()];
                expand(seed, segment, at, stream);
                match segment.word_bytes() {
                    4 => add_words::<4>(stream, *sign, tile),
                    _ => add_words::<8>(stream, *sign, tile),
                }
            }
        }
        stream.zeroize();
    }
}

fn expand(seed: &MaskSeed, segment: Segment, first: u64, stream: &mut [u8]) {
    stream.fill(0);
    let mut cipher = ChaCha20::new(&seed.0.into(), &segment.nonce().into());
    cipher.seek(first * segment.word_bytes() as u64);
    cipher.apply_keystream(stream);
}

fn add_words<const N: usize>(stream: &[u8], sign: Sign, elements: &mut [u64]) {
    let (words, _) = stream.as_chunks::<N>();
    let words = words.iter().map(|word| {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(word);
        u64::from_le_bytes(wide)
    });
    let pairs = elements.iter_mut().zip(words);
    match sign {
        Sign::Plus => pairs.for_each(|(element, word)| *element = element.wrapping_add(word)),
        Sign::Minus => pairs.for_each(|(element, word)| *element = element.wrapping_sub(word)),
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::ValueGrid;

    use super::*;

    #[test]
    fn any_range_has_the_same_mask_and_the_opposite_sign_removes_it() {
        let mut masks = Masks::default();
        masks.push(MaskSeed([7; 32]), Sign::Plus);
        masks.push(MaskSeed([8; 32]), Sign::Minus);
        for fraction_bits in [20, 40] {
            let grid = ValueGrid { fraction_bits, value_max: 1.0, weight_max: 1 };
            for segment in [Segment::Values(Ring::for_sum(&grid, 5).unwrap()), Segment::Extras] {
                let mut whole = vec![0; 10_000];
                masks.add_to(segment, 0, &mut whole);
                let mut part = vec![0; 3_001];
                masks.add_to(segment, 4_099, &mut part);
                assert_eq!(part, whole[4_099..7_100]);
                let mut opposite = Masks::default();
                masks.masks.iter().for_each(|(seed, sign)| opposite.push(seed.clone(), sign.opposite()));
                opposite.add_to(segment, 0, &mut whole);
                assert!(whole.iter().all(|element| *element == 0));
            }
        }
    }

    /// The block of RFC 8439, section 2.4.2, has another counter and nonce; this one is of section A.1, test vector 1.
    #[test]
    fn the_key_stream_is_that_of_the_rfc() {
        let mut masks = Masks::default();
        masks.push(MaskSeed([0; 32]), Sign::Plus);
        let grid = ValueGrid { fraction_bits: 40, value_max: 1.0, weight_max: 1 };
        let mut elements = [0; 2];
        masks.add_to(Segment::Values(Ring::for_sum(&grid, 1).unwrap()), 0, &mut elements);
        let bytes =
            [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28];
        let expected = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        assert!(elements.into_iter().eq(expected));
    }
}
