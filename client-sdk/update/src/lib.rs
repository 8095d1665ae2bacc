#![doc = include_str!("../README.md")]

mod decode;
mod encode;
mod values;

pub use decode::{DecodeError, Piece, UpdateDecoder};
pub use encode::encode_update;
pub use values::{ValueFault, check_values};
