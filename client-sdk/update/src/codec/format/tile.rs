//! One tile of a tensor, to bytes and back.

use super::tag::Format;
use crate::codec::coding::{bytes::Bytes, floats, halves};
use crate::codec::kinds::{
    factors::{self, Factors, Sides},
    levels::Scale,
    one_bit, random_k, sparse,
};
use crate::codec::transform::{random::Place, selection::Selection};
use crate::codec::{Codec, Fault, TILE};

/// What the tiles of one tensor are written with.
pub(crate) struct TileEncoder {
    /// The codec, for what the decoder need not know.
    pub codec: Codec,
    /// What the decoder knows.
    pub format: Format,
    /// Whether symbols may be entropy-coded.
    pub lossless: bool,
    /// Which elements are sent; of a sparse format.
    pub selection: Option<Selection>,
    /// The factors and the tensor's sides; of the format of factors.
    pub factors: Option<(Factors, Sides)>,
}

impl TileEncoder {
    /// Appends the body of the next tile, whose first element is the tensor's `first`.
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

/// What the tiles of one tensor are read with.
pub(crate) struct TileDecoder {
    /// How they are written.
    pub format: Format,
    /// The tensor's sides, where it has two.
    pub sides: Option<Sides>,
    /// `Q`, where the format is that of factors.
    pub right: Vec<f32>,
}

/// The memory into which tiles are decoded.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    values: Vec<f32>,
    positions: Vec<u32>,
}

/// The values of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TileValues<'a> {
    /// Every element's.
    Dense(&'a [f32]),
    /// Those of some elements; all others are 0.
    Sparse {
        /// Their indices in the tile, rising.
        positions: &'a [u32],
        /// Their values, as many.
        values: &'a [f32],
    },
}

impl TileValues<'_> {
    /// Returns the values that are there, without their positions.
    pub fn present(&self) -> &[f32] {
        match self {
            Self::Dense(values) | Self::Sparse { values, .. } => values,
        }
    }
}

impl TileDecoder {
    /// Returns the bytes of a tile of `count` elements, at most.
    pub fn body_bytes_max(count: usize) -> usize {
        // The longest are sparse ones with all elements, and factors with two rows of which a tile is a part.
        8 * count + TILE / 2
    }

    /// Reads the body of a tile of `count` elements, whose first is the tensor's `first`.
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
