#![doc = include_str!("../README.md")]

pub mod codec;
mod decode;
mod encode;
pub mod grid;
mod masked;
pub mod noise;
mod norm;
mod values;

pub use decode::{DecodeError, Piece, UpdateDecoder};
pub use encode::{Compression, Made, MakeError, encode_update, make_update};
pub use masked::{MaskError, Unmasked, mask_update};
pub use norm::{SquaredNorm, clip_norm};
pub use values::{ValueFault, check_values};
