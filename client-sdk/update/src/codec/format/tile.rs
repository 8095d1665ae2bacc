//! Encodes and decodes one tile of a tensor.

use super::tag::Format;
use crate::codec::coding::{bytes::Bytes, floats, halves};
use crate::codec::kinds::{
    factors::{self, Factors, Sides},
    levels::Scale,
    one_bit, random_k, sparse,
};
use crate::codec::transform::{random::Place, selection::Selection};
use crate::codec::{Codec, Fault, TILE};

/// The encoder for the tiles of one tensor.
pub(crate) struct TileEncoder {
    /// The codec, including parameters that the decoder does not need.
    pub codec: Codec,
    /// The format, as known to the decoder.
    pub format: Format,
    /// True if symbols may be entropy-coded.
    pub lossless: bool,
    /// The elements to send, for a sparse format.
    pub selection: Option<Selection>,
    /// The factors and the tensor's sides, for the format of factors.
    pub factors: Option<(Factors, Sides)>,
}

impl TileEncoder {
    /// Appends the body of the next tile, which starts at element `first` of the tensor.
    pub fn encode(&mut self, values: &[f32], place: Place, first: usize, out: &mut Vec<u8>) {
        match self.format {
            Format::Float(kind) => floats::write(kind, values, self.lossless, out),
            Format::Float16 => halves::encode(values, out),
            Format::Uniform(uniform) => uniform.encode(values, place, self.lossless, out),
            Format::Levels(levels) => {
                let scale = match self.codec {
                    Codec::Ternary { clip_deviations } => Scale::Largest { clip_deviations },
                    _ => Scale::Norm,
                };
                levels.encode(scale, values, place, self.lossless, out);
            }
            Format::OneBit(means) => one_bit::encode(means, values, out),
            Format::RandomK { share } => {
                random_k::encode(share, self.codec.is_unbiased(), values, place, self.lossless, out);
            }
            Format::Sparse(kind) => {
                let mut positions = Vec::new();
                let selection = self.selection.as_mut().expect("a sparse tensor has a selection");
                selection.positions(values, &mut positions);
                sparse::encode(kind, &positions, values, self.lossless, out);
            }
            Format::Factors { .. } => {
                let (factors, sides) = self.factors.as_ref().expect("a tensor of factors has them");
                factors.write_tile(*sides, first, values.len(), out);
            }
            Format::Eden(eden) => eden.encode(self.codec.is_unbiased(), values, place, self.lossless, out),
            Format::Weights(weights) => weights.encode(values, self.lossless, out),
        }
    }
}

/// The decoder for the tiles of one tensor.
pub(crate) struct TileDecoder {
    /// The format of the tiles.
    pub format: Format,
    /// The tensor's sides, if it has at least two dimensions.
    pub sides: Option<Sides>,
    /// `Q`, for the format of factors.
    pub right: Vec<f32>,
}

/// Reusable memory for decoded tiles.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    values: Vec<f32>,
    positions: Vec<u32>,
}

/// The values of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TileValues<'a> {
    /// All elements.
    Dense(&'a [f32]),
    /// Some elements; all others are 0.
    Sparse {
        /// The indices of these elements in the tile, in increasing order.
        positions: &'a [u32],
        /// The values of these elements, in the same order.
        values: &'a [f32],
    },
}

impl TileValues<'_> {
    /// Returns the explicit values, without their positions.
    pub fn present(&self) -> &[f32] {
        match self {
            Self::Dense(values) | Self::Sparse { values, .. } => values,
        }
    }
}

impl TileDecoder {
    /// Returns the maximum size in bytes of the body of a tile with `count` elements.
    pub fn body_bytes_max(count: usize) -> usize {
        // The longest bodies belong to sparse tiles with all elements, and to tiles of factors. The latter contain a
        // whole row of `P` even for the first and the last row of the matrix, which the tile may cover only in part.
        8 * count + TILE / 2
    }

    /// Decodes the body of a tile with `count` elements, which starts at element `first` of the tensor.
    pub fn decode<'a>(
        &self,
        body: &[u8],
        place: Place,
        first: usize,
        count: usize,
        workspace: &'a mut Workspace,
    ) -> Result<TileValues<'a>, Fault> {
        let Workspace { values, positions } = workspace;
        let bytes = &mut Bytes(body);
        let is_sparse = matches!(self.format, Format::Sparse(_) | Format::RandomK { .. });
        if !is_sparse {
            values.resize(count, 0.0);
        }
        match self.format {
            Format::Float(kind) => floats::read(kind, bytes, values)?,
            Format::Float16 => halves::decode(bytes, values)?,
            Format::Uniform(uniform) => uniform.decode(bytes, place, values)?,
            Format::Levels(levels) => levels.decode(bytes, values)?,
            Format::OneBit(means) => one_bit::decode(means, bytes, values)?,
            Format::RandomK { share } => random_k::decode(share, bytes, place, count, positions, values)?,
            Format::Sparse(kind) => sparse::decode(kind, bytes, count, positions, values)?,
            Format::Factors { rank } => {
                let sides = self.sides.ok_or(Fault("factors are for tensors of two dimensions or more"))?;
                factors::read_tile(bytes, sides, (rank.into(), &self.right), first, values)?;
            }
            Format::Eden(eden) => eden.decode(bytes, place, values)?,
            Format::Weights(weights) => weights.decode(bytes, values)?,
        }
        bytes.end()?;
        Ok(if is_sparse { TileValues::Sparse { positions, values } } else { TileValues::Dense(values) })
    }
}
