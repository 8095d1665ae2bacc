//! The encoding of a tensor in a payload: a tag and its parameters, which are needed to decode its tiles.
//!
//! | tag | tiles | parameters |
//! |---|---|---|
//! | 0 | float32 | |
//! | 1 | binary16 | |
//! | 2 | bfloat16 | |
//! | 3 | uniform | bits, plus 128 if rotated; log2 of the block |
//! | 4 | levels | levels above zero; log2 of the bucket |
//! | 5 | signs and two means | |
//! | 6 | signs and one mean | |
//! | 7 | random-k | share, float64 |
//! | 8 | sparse, float32 | |
//! | 9 | sparse, bfloat16 | |
//! | 10 | factors | rank, u16 |
//! | 11 | EDEN | bits; log2 of the block |
//! | 12 | block weights | bits; log2 of the block |

use crate::codec::coding::{bytes::Bytes, floats::Float};
use crate::codec::kinds::{
    eden::Eden, factors::Sides, levels::Levels, one_bit::Means, uniform::Uniform, weights::BlockWeights,
};
use crate::codec::{Codec, Fault, TILE};

/// The format of a tensor's tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    Float(Float),
    Float16,
    Uniform(Uniform),
    Levels(Levels),
    OneBit(Means),
    RandomK { share: f64 },
    Sparse(Float),
    Factors { rank: u16 },
    Eden(Eden),
    Weights(BlockWeights),
}

impl Format {
    /// Returns the format of a codec, as far as its numbers determine it. For a codec with factors, this is float32:
    /// its rank is known only after the factors were computed.
    pub fn of(codec: &Codec) -> Self {
        match *codec {
            Codec::None | Codec::LowRank { .. } | Codec::SufficientFactors { .. } => {
                Self::Float(Float::Float32)
            }
            Codec::Fp16 => Self::Float16,
            Codec::Bf16 => Self::Float(Float::Brain16),
            Codec::Fixed { bits, block, rotated } => {
                Self::Uniform(Uniform { bits, block: block as usize, rotated })
            }
            Codec::Qsgd { levels, bucket } => Self::Levels(Levels { levels, bucket: bucket as usize }),
            Codec::Ternary { .. } => Self::Levels(Levels { levels: 1, bucket: TILE }),
            Codec::OneBit => Self::OneBit(Means::Two),
            Codec::Sign => Self::OneBit(Means::One),
            Codec::RandomK { share, .. } => Self::RandomK { share },
            Codec::TopK { half_values, .. }
            | Codec::DeepGradient { half_values, .. }
            | Codec::Threshold { half_values, .. } => {
                Self::Sparse(if half_values { Float::Brain16 } else { Float::Float32 })
            }
            Codec::Drive { block, .. } => Self::Eden(Eden { bits: 1, block: block as usize }),
            Codec::Eden { bits, block, .. } => Self::Eden(Eden { bits, block: block as usize }),
            Codec::Weights { bits, block } => Self::Weights(BlockWeights { bits, block: block as usize }),
        }
    }

    /// Returns whether the codec may have written this format for a tensor.
    pub fn is_of(self, codec: &Codec, sides: Option<Sides>) -> bool {
        let gains = |rank: u32| sides.is_some_and(|sides| sides.gains(rank as usize));
        match (*codec, self) {
            (Codec::LowRank { rank, .. }, Self::Factors { rank: sent }) => {
                gains(rank) && u32::from(sent) == rank
            }
            (Codec::LowRank { rank, .. }, Self::Float(Float::Float32)) => !gains(rank),
            (Codec::SufficientFactors { rank_max, .. }, Self::Factors { rank }) => {
                u32::from(rank) <= rank_max
            }
            _ => self == Self::of(codec),
        }
    }

    /// Appends the tag and the parameters.
    pub fn write(self, out: &mut Vec<u8>) {
        let log = |length: usize| length.trailing_zeros() as u8;
        match self {
            Self::Float(Float::Float32) => out.push(0),
            Self::Float16 => out.push(1),
            Self::Float(Float::Brain16) => out.push(2),
            Self::Uniform(Uniform { bits, block, rotated }) => {
                out.extend([3, bits | u8::from(rotated) << 7, log(block)]);
            }
            Self::Levels(Levels { levels, bucket }) => out.extend([4, levels, log(bucket)]),
            Self::OneBit(Means::Two) => out.push(5),
            Self::OneBit(Means::One) => out.push(6),
            Self::RandomK { share } => {
                out.push(7);
                out.extend(share.to_le_bytes());
            }
            Self::Sparse(Float::Float32) => out.push(8),
            Self::Sparse(Float::Brain16) => out.push(9),
            Self::Factors { rank } => {
                out.push(10);
                out.extend(rank.to_le_bytes());
            }
            Self::Eden(Eden { bits, block }) => out.extend([11, bits, log(block)]),
            Self::Weights(BlockWeights { bits, block }) => out.extend([12, bits, log(block)]),
        }
    }

    /// Returns the size of a tag's parameters in bytes, or `None` if the tag is unknown.
    pub fn parameter_bytes(tag: u8) -> Option<usize> {
        match tag {
            0 | 1 | 2 | 5 | 6 | 8 | 9 => Some(0),
            3 | 4 | 10 | 11 | 12 => Some(2),
            7 => Some(8),
            _ => None,
        }
    }

    /// Reads the parameters of a tag and checks them like [`Codec::validate`].
    pub fn read(tag: u8, bytes: &mut Bytes<'_>, sides: Option<Sides>) -> Result<Self, Fault> {
        let format = match tag {
            0 => Self::Float(Float::Float32),
            1 => Self::Float16,
            2 => Self::Float(Float::Brain16),
            5 => Self::OneBit(Means::Two),
            6 => Self::OneBit(Means::One),
            8 => Self::Sparse(Float::Float32),
            9 => Self::Sparse(Float::Brain16),
            7 => {
                let share = f64::from_le_bytes(bytes.array()?);
                valid(Codec::RandomK { share, unbiased: true })?
            }
            10 => {
                let rank = u16::from_le_bytes(bytes.array()?);
                if rank > 0 && !sides.is_some_and(|sides| sides.gains(rank.into())) {
                    return Err(Fault("factors of this rank are larger than the tensor"));
                }
                if sides.is_none() {
                    return Err(Fault("factors are for tensors of two dimensions or more"));
                }
                Self::Factors { rank }
            }
            _ => {
                let [number, log] = bytes.array()?;
                let block = 1u32.checked_shl(log.into()).unwrap_or(0);
                valid(match tag {
                    3 => Codec::Fixed { bits: number & 0x7f, block, rotated: number & 0x80 != 0 },
                    4 => Codec::Qsgd { levels: number, bucket: block },
                    11 => Codec::Eden { bits: number, unbiased: true, block },
                    12 => Codec::Weights { bits: number, block },
                    _ => return Err(Fault("its codec is unknown")),
                })?
            }
        };
        Ok(format)
    }
}

fn valid(codec: Codec) -> Result<Format, Fault> {
    if codec.validate().is_empty() {
        Ok(Format::of(&codec))
    } else {
        Err(Fault("a parameter is out of range"))
    }
}
