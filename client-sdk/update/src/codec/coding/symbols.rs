//! A run of symbols: packed, or entropy-coded if that is shorter.

use super::{
    bits::{pack, packed_bytes, unpack},
    bytes::Bytes,
    entropy::{self, Coding},
};
use crate::codec::Fault;

const PACKED: u8 = 0;
const CODED: u8 = 1;

/// Appends symbols of an alphabet of 2 to 256: one byte for the form, then the symbols.
pub(crate) fn write(symbols: &[u8], alphabet: usize, lossless: bool, out: &mut Vec<u8>) {
    let width = width(alphabet);
    if lossless {
        let coding = Coding::of(symbols, alphabet);
        if coding.coded_bytes() < packed_bytes(symbols.len(), width) {
            out.push(CODED);
            coding.encode(out);
            return;
        }
    }
    out.push(PACKED);
    pack(symbols, width, out);
}

/// Reads all of `bytes` into `symbols`. The bytes must be the output of [`write()`] for the same alphabet and the same
/// number of symbols. Packed symbols are not checked against the alphabet: a wrong one can have any value of the packed
/// width.
///
/// # Errors
/// A fault if the bytes do not encode exactly this many symbols.
pub(crate) fn read(bytes: &mut Bytes<'_>, alphabet: usize, symbols: &mut [u8]) -> Result<(), Fault> {
    match bytes.array()? {
        [PACKED] => {
            unpack(bytes.take(packed_bytes(symbols.len(), width(alphabet)))?, width(alphabet), symbols);
            bytes.end()
        }
        [CODED] => entropy::decode(std::mem::take(&mut bytes.0), alphabet, symbols),
        _ => Err(Fault("the encoding of the symbols is unknown")),
    }
}

/// Returns the number of bits per packed symbol.
fn width(alphabet: usize) -> u32 {
    alphabet.next_power_of_two().trailing_zeros().max(1)
}
