//! Ring elements as bytes: `bits` bits each, the first element in the lowest bits, without gaps.

use crate::Ring;

/// Eight elements fill a whole number of bytes.
const BLOCK: usize = 8;

/// Returns the number of bytes of `count` packed elements.
pub fn packed_bytes(ring: Ring, count: u64) -> u64 {
    (count / 8)
        .saturating_mul(u64::from(ring.bits()))
        .saturating_add((count % 8 * u64::from(ring.bits())).div_ceil(8))
}

/// Appends packed elements to `bytes`. If more elements follow in another call, their number must be a multiple of 8.
pub fn pack(ring: Ring, elements: &[u64], bytes: &mut Vec<u8>) {
    bytes.reserve(packed_bytes(ring, elements.len() as u64) as usize);
    // An element has at most 62 bits, so 63 held bits and one more element fit.
    let (mut held, mut held_bits) = (0u128, 0);
    for element in elements {
        held |= u128::from(ring.reduce(*element)) << held_bits;
        held_bits += ring.bits();
        if held_bits >= u64::BITS {
            bytes.extend_from_slice(&(held as u64).to_le_bytes());
            held >>= u64::BITS;
            held_bits -= u64::BITS;
        }
    }
    bytes.extend_from_slice(&(held as u64).to_le_bytes()[..held_bits.div_ceil(8) as usize]);
}

/// Unpacks elements from bytes that arrive in pieces of any size.
#[derive(Debug)]
pub struct Unpacker {
    ring: Ring,
    /// The number of elements to come.
    remaining: u64,
    /// The beginning of a block whose end has not arrived.
    partial: Vec<u8>,
}

impl Unpacker {
    /// Creates an unpacker of `count` elements.
    pub fn new(ring: Ring, count: u64) -> Self {
        Self { ring, remaining: count, partial: Vec::new() }
    }

    /// Returns whether all elements have arrived.
    pub fn is_complete(&self) -> bool {
        self.remaining == 0
    }

    /// Appends the elements of the next bytes to `elements`, and returns the bytes behind the last element.
    pub fn push<'a>(&mut self, mut bytes: &'a [u8], elements: &mut Vec<u64>) -> &'a [u8] {
        while self.remaining > 0 {
            if self.partial.is_empty() {
                // A block has as many bytes as an element has bits.
                let blocks =
                    (bytes.len() as u64 / u64::from(self.ring.bits())).min(self.remaining / BLOCK as u64);
                let (whole, rest) = bytes.split_at((blocks * u64::from(self.ring.bits())) as usize);
                unpack(self.ring, whole, blocks * BLOCK as u64, elements);
                (bytes, self.remaining) = (rest, self.remaining - blocks * BLOCK as u64);
            }
            let count = self.remaining.min(BLOCK as u64);
            let missing = packed_bytes(self.ring, count) as usize - self.partial.len();
            let (head, rest) = bytes.split_at(missing.min(bytes.len()));
            self.partial.extend_from_slice(head);
            bytes = rest;
            if head.len() < missing {
                break;
            }
            unpack(self.ring, &self.partial, count, elements);
            self.partial.clear();
            self.remaining -= count;
        }
        bytes
    }
}

/// Appends `count` elements, which these bytes hold. Reads a window of 16 bytes for each element, and the last ones through a
/// padded copy.
fn unpack(ring: Ring, bytes: &[u8], count: u64, elements: &mut Vec<u64>) {
    const WINDOW: usize = 16;
    let bits = ring.bits() as usize;
    elements.reserve(count as usize);
    for index in 0..count as usize {
        let (at, shift) = (index * bits / 8, index * bits % 8);
        let window = match bytes[at..].first_chunk::<WINDOW>() {
            Some(window) => *window,
            None => {
                let mut padded = [0; WINDOW];
                padded[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                padded
            }
        };
        elements.push(ring.reduce((u128::from_le_bytes(window) >> shift) as u64));
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::ValueGrid;
    use proptest::prelude::*;

    use super::*;

    fn ring(bits: u32) -> Ring {
        let grid = ValueGrid { fraction_bits: bits - 2, value_max: 1.0, weight_max: 1 };
        let ring = Ring::for_sum(&grid, 1).unwrap();
        assert_eq!(ring.bits(), bits.max(8));
        ring
    }

    proptest! {
        #[test]
        fn elements_survive_any_cut(bits in 8u32..=62, values in prop::collection::vec(any::<u64>(), 0..100), cut in 1usize..40) {
            let ring = ring(bits);
            let mut bytes = Vec::new();
            pack(ring, &values, &mut bytes);
            prop_assert_eq!(bytes.len() as u64, packed_bytes(ring, values.len() as u64));
            bytes.extend([1, 2, 3]);
            let (mut unpacker, mut elements, mut left) = (Unpacker::new(ring, values.len() as u64), Vec::new(), 0);
            for piece in bytes.chunks(cut) {
                left += unpacker.push(piece, &mut elements).len();
            }
            prop_assert!(unpacker.is_complete());
            prop_assert_eq!(left, 3, "bytes behind the elements are given back");
            let reduced: Vec<u64> = values.iter().map(|value| ring.reduce(*value)).collect();
            prop_assert_eq!(elements, reduced);
        }
    }
}
