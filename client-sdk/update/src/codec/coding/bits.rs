//! Symbols of 1 to 8 bits, packed: eight symbols of `width` bits in `width` bytes, the first in the lowest
//! bits.

/// Returns the number of bytes that `count` packed symbols take.
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends symbols, each below 2^`width`.
pub(crate) fn pack(symbols: &[u8], width: u32, out: &mut Vec<u8>) {
    match width {
        1 => pack_groups::<1>(symbols, out),
        2 => pack_groups::<2>(symbols, out),
        3 => pack_groups::<3>(symbols, out),
        4 => pack_groups::<4>(symbols, out),
        5 => pack_groups::<5>(symbols, out),
        6 => pack_groups::<6>(symbols, out),
        7 => pack_groups::<7>(symbols, out),
        _ => out.extend_from_slice(symbols),
    }
}

/// Reads `symbols.len()` symbols from [`packed_bytes`] bytes.
pub(crate) fn unpack(bytes: &[u8], width: u32, symbols: &mut [u8]) {
    match width {
        1 => unpack_groups::<1>(bytes, symbols),
        2 => unpack_groups::<2>(bytes, symbols),
        3 => unpack_groups::<3>(bytes, symbols),
        4 => unpack_groups::<4>(bytes, symbols),
        5 => unpack_groups::<5>(bytes, symbols),
        6 => unpack_groups::<6>(bytes, symbols),
        7 => unpack_groups::<7>(bytes, symbols),
        _ => symbols.copy_from_slice(bytes),
    }
}

fn pack_groups<const WIDTH: usize>(symbols: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + packed_bytes(symbols.len(), WIDTH as u32), 0);
    let bytes = &mut out[start..];
    let (groups, rest) = symbols.as_chunks::<8>();
    let (packed, last) = bytes.split_at_mut(groups.len() * WIDTH);
    for (group, packed) in groups.iter().zip(packed.as_chunks_mut::<WIDTH>().0) {
        packed.copy_from_slice(&join::<WIDTH>(*group).to_le_bytes()[..WIDTH]);
    }
    if !rest.is_empty() {
        let mut group = [0; 8];
        group[..rest.len()].copy_from_slice(rest);
        last.copy_from_slice(&join::<WIDTH>(group).to_le_bytes()[..last.len()]);
    }
}

fn unpack_groups<const WIDTH: usize>(bytes: &[u8], symbols: &mut [u8]) {
    let (groups, rest) = symbols.as_chunks_mut::<8>();
    let (packed, last) = bytes.split_at(groups.len() * WIDTH);
    for (group, packed) in groups.iter_mut().zip(packed.as_chunks::<WIDTH>().0) {
        *group = split(*packed);
    }
    if !rest.is_empty() {
        let mut packed = [0; WIDTH];
        packed[..last.len()].copy_from_slice(last);
        rest.copy_from_slice(&split(packed)[..rest.len()]);
    }
}

/// Closes the gaps between the symbols in three steps. All eight symbols are in one word, whose lanes double in width
/// in each step.
#[inline(always)]
fn join<const WIDTH: usize>(symbols: [u8; 8]) -> u64 {
    let word = close(u64::from_le_bytes(symbols), WIDTH, 8);
    close(close(word, 2 * WIDTH, 16), 4 * WIDTH, 32)
}

#[inline(always)]
fn split<const WIDTH: usize>(packed: [u8; WIDTH]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..WIDTH].copy_from_slice(&packed);
    let word = open(u64::from_le_bytes(bytes), 4 * WIDTH, 32);
    open(open(word, 2 * WIDTH, 16), WIDTH, 8).to_le_bytes()
}

/// Moves the lowest `bits` bits of every second lane next to the lowest `bits` bits of the lane below.
#[inline(always)]
const fn close(word: u64, bits: usize, lane: usize) -> u64 {
    let even = spread(bits, 2 * lane);
    word & even | (word & even << lane) >> (lane - bits)
}

/// Undoes [`close`].
#[inline(always)]
const fn open(word: u64, bits: usize, lane: usize) -> u64 {
    let even = spread(bits, 2 * lane);
    word & even | (word & even << bits) << (lane - bits)
}

/// A mask of the lowest `bits` bits.
const fn low(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// A mask of the lowest `bits` bits in every lane of `lane` bits.
const fn spread(bits: usize, lane: usize) -> u64 {
    let mut mask = 0;
    let mut at = 0;
    while at < 64 {
        mask |= low(bits) << at;
        at += lane;
    }
    mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn symbols_survive(width in 1u32..=8, symbols in prop::collection::vec(any::<u8>(), 0..70)) {
            let mask = ((1u32 << width) - 1) as u8;
            let symbols: Vec<u8> = symbols.iter().map(|symbol| symbol & mask).collect();
            let mut bytes = vec![9];
            pack(&symbols, width, &mut bytes);
            prop_assert_eq!(bytes.len(), 1 + packed_bytes(symbols.len(), width));
            let mut seen = vec![0; symbols.len()];
            unpack(&bytes[1..], width, &mut seen);
            prop_assert_eq!(seen, symbols);
        }
    }

    #[test]
    fn the_first_symbol_stands_in_the_lowest_bits() {
        let mut bytes = Vec::new();
        pack(&[1, 2, 3, 4, 5, 6, 7, 0, 5], 3, &mut bytes);
        // The symbols in each byte: 1, 2, 3 (low bits); 3 (high bit), 4, 5, 6 (low bit); 6 (high bits), 7, 0; 5.
        assert_eq!(bytes, [0b1101_0001, 0b0101_1000, 0b0001_1111, 0b0000_0101]);
    }
}
