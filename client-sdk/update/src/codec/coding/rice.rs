//! The positions of a tile's selected elements, as Rice-coded gaps.
//!
//! Rice and Plaunt 1971; Golomb 1966. A gap is the number of skipped elements. Its high part is coded as that many ones
//! and a zero, followed by its lowest `parameter` bits, low bit first. With the parameter 0, this is a bitmap.
//!
//! The bytes: the number of positions as u32, the parameter (0 to 16), and the gaps' bits, with the last byte padded
//! with zeros.

use super::bytes::Bytes;
use crate::codec::Fault;

const PARAMETER_MAX: u8 = 16;

/// Appends positions, which must be increasing.
pub(crate) fn write(positions: &[u32], out: &mut Vec<u8>) {
    let gaps = || {
        let before = std::iter::once(0).chain(positions.iter().map(|position| position + 1));
        positions.iter().zip(before).map(|(position, before)| position - before)
    };
    let bits = |parameter: &u8| {
        gaps().map(|gap| u64::from(gap >> parameter)).sum::<u64>()
            + positions.len() as u64 * u64::from(1 + parameter)
    };
    let mean = gaps().map(u64::from).sum::<u64>() / (positions.len() as u64).max(1);
    let near = mean.max(1).ilog2() as u8;
    let candidates = near.saturating_sub(1)..=(near + 1).min(PARAMETER_MAX);
    let parameter = candidates.min_by_key(bits).expect("there are candidates");
    out.extend((positions.len() as u32).to_le_bytes());
    out.push(parameter);
    let mut writer = BitWriter { out, word: 0, filled: 0 };
    for gap in gaps() {
        let mut ones = gap >> parameter;
        while ones >= 32 {
            writer.put(u64::from(u32::MAX), 32);
            ones -= 32;
        }
        writer.put((1 << ones) - 1, ones + 1);
        writer.put(u64::from(gap) & ((1 << parameter) - 1), u32::from(parameter));
    }
    writer.end();
}

/// Reads positions into `positions`. They are increasing and below `count`.
pub(crate) fn read(bytes: &mut Bytes<'_>, count: usize, positions: &mut Vec<u32>) -> Result<(), Fault> {
    positions.clear();
    let chosen = bytes.u32()? as usize;
    let [parameter] = bytes.array()?;
    if chosen > count || parameter > PARAMETER_MAX {
        return Err(Fault("there are more positions than elements, or the Rice parameter is above 16"));
    }
    let mut reader = BitReader { bytes: bytes.0, at: 0 };
    let mut next = 0u64;
    for _ in 0..chosen {
        let high = u64::from(reader.ones(count as u32)?);
        let gap = high << parameter | reader.take(u32::from(parameter))?;
        if next + gap >= count as u64 {
            return Err(Fault("a position is beyond the last element"));
        }
        positions.push((next + gap) as u32);
        next += gap + 1;
    }
    bytes.take(reader.at.div_ceil(8))?;
    Ok(())
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl BitWriter<'_> {
    /// Appends the lowest `count` bits, at most 33. Fewer than 31 bits stay in the word.
    fn put(&mut self, bits: u64, count: u32) {
        self.word |= bits << self.filled;
        self.filled += count;
        if self.filled >= 32 {
            self.out.extend((self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.filled -= 32;
        }
    }

    fn end(self) {
        let bytes = self.word.to_le_bytes();
        self.out.extend_from_slice(&bytes[..self.filled.div_ceil(8) as usize]);
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// Returns the next bits, at least 56. Bits past the end are 0.
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(word)
            }
        };
        word >> (self.at % 8)
    }

    /// Counts the ones up to the next zero and skips both.
    fn ones(&mut self, most: u32) -> Result<u32, Fault> {
        let mut total = 0;
        loop {
            let ones = self.peek().trailing_ones().min(56);
            total += ones;
            self.at += ones as usize;
            if ones < 56 {
                self.at += 1;
                return if self.at <= 8 * self.bytes.len() {
                    Ok(total)
                } else {
                    Err(Fault("the bytes end within a gap"))
                };
            }
            if total > most {
                return Err(Fault("a gap is longer than the tile"));
            }
        }
    }

    fn take(&mut self, count: u32) -> Result<u64, Fault> {
        let bits = self.peek() & ((1 << count) - 1);
        self.at += count as usize;
        if self.at <= 8 * self.bytes.len() { Ok(bits) } else { Err(Fault("the bytes end within a gap")) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_survive(gaps in prop::collection::vec(prop_oneof![0u32..3, 0u32..900], 0..200)) {
            let mut next = 0;
            let place = |gap: &u32| { next += gap + 1; next - 1 };
            let positions: Vec<u32> = gaps.iter().map(place).collect();
            let count = positions.last().map_or(5, |last| *last as usize + 1);
            let mut bytes = Vec::new();
            write(&positions, &mut bytes);
            bytes.push(7);
            let (mut reader, mut seen) = (Bytes(&bytes), Vec::new());
            read(&mut reader, count, &mut seen).unwrap();
            prop_assert_eq!((&seen, reader.0), (&positions, &[7][..]));
            if count > 5 {
                prop_assert!(read(&mut Bytes(&bytes), count - 1, &mut seen).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), count in 0usize..70_000) {
            let mut positions = Vec::new();
            if read(&mut Bytes(&bytes), count, &mut positions).is_ok() {
                prop_assert!(positions.is_sorted() && positions.iter().all(|at| (*at as usize) < count));
            }
        }
    }

    #[test]
    fn one_in_a_hundred_costs_eight_bits() {
        // The entropy of a gap at density 0.01 is 8.08 bits.
        let positions: Vec<u32> =
            (0..65_536u32).filter(|at| at.wrapping_mul(2_654_435_761) >> 16 < 655).collect();
        let mut bytes = Vec::new();
        write(&positions, &mut bytes);
        let bits = 8.0 * bytes.len() as f64 / positions.len() as f64;
        assert!((6.0..8.4).contains(&bits), "{bits}");
    }
}
