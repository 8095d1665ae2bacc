//! The bytes of a compressed update.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | `FMUC` |
//! | 2 | format version, now 1 |
//! | 4 | number of tensors |
//! | 8 | seed |
//!
//! and for each tensor, in the order of the schema:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | tag, see [`super::tag`] |
//! | 0 to 8 | the tag's parameters |
//! | 4 | number of elements |
//! | | data before the tiles, for factors only |
//! | 4, n | for each tile of 65,536 elements (the last one may be shorter): the length of its body, and the body |
//!
//! All numbers are little-endian.

/// The first four bytes.
pub(crate) const MAGIC: [u8; 4] = *b"FMUC";
/// The format version that this build writes and reads.
pub(crate) const FORMAT_VERSION: u16 = 1;
/// The number of bytes before the first tensor.
pub(crate) const HEADER_BYTES: usize = 18;

/// The maximum magnitude that is encoded, 2^96. For values up to it, no codec's scale exceeds the range of float32.
pub(crate) const MAGNITUDE_MAX: f32 = 7.922_816_3e28;

/// Appends the header before the first tensor.
pub(crate) fn write_header(tensors: usize, seed: u64, out: &mut Vec<u8>) {
    out.extend(MAGIC);
    out.extend(FORMAT_VERSION.to_le_bytes());
    out.extend((tensors as u32).to_le_bytes());
    out.extend(seed.to_le_bytes());
}
