//! Some elements of a tile with their positions; all others are 0. Used by top-k, DGC and the threshold.
//!
//! A tile: the positions as in [`crate::codec::coding::rice`], then the values as in [`crate::codec::coding::floats`].

use crate::codec::Fault;
use crate::codec::coding::{
    bytes::Bytes,
    floats::{self, Float},
    rice,
};

/// Appends the elements of a tile at these positions, which must be increasing. All other elements will decode to 0.
pub(crate) fn encode(kind: Float, positions: &[u32], values: &[f32], lossless: bool, out: &mut Vec<u8>) {
    rice::write(positions, out);
    let chosen: Vec<f32> = positions.iter().map(|position| values[*position as usize]).collect();
    floats::write(kind, &chosen, lossless, out);
}

/// Reads the elements that were sent of a tile of `count` elements: their positions and their values.
pub(crate) fn decode(
    kind: Float,
    bytes: &mut Bytes<'_>,
    count: usize,
    positions: &mut Vec<u32>,
    values: &mut Vec<f32>,
) -> Result<(), Fault> {
    rice::read(bytes, count, positions)?;
    values.resize(positions.len(), 0.0);
    floats::read(kind, bytes, values)
}
