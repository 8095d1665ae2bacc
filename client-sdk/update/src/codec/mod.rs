//! Codecs for updates and weights: fewer bytes, and how much is lost.
//!
//! A [`Recipe`] says which [`Codec`] each tensor gets, [`encode()`] writes a payload, and a [`Decoder`] reads
//! it in pieces of any size and shows it tile by tile, so that the coordinator adds up an update that it
//! never holds. Everything random comes from the payload's seed. What a biased codec leaves out is kept in a
//! [`Memory`] on the device.

mod bits;
mod bytes;
mod decode;
mod deep_gradient;
mod eden;
mod encode;
mod entropy;
mod expected;
mod factors;
mod fault;
mod floats;
mod format;
mod groups;
mod hadamard;
mod halves;
mod lattice;
mod levels;
mod lloyd_max;
mod measure;
mod memory;
mod one_bit;
mod parts;
mod payload;
mod power;
mod random;
mod random_k;
mod real;
mod recorded;
mod rice;
mod rotation;
mod selection;
mod sparse;
mod sums;
mod symbols;
#[cfg(test)]
mod tests;
mod tile;
mod uniform;
mod weights;

pub use decode::{CutOff, Decoder, PayloadError, Tile, decode};
pub use encode::{EncodeError, Encoded, encode, encode_recorded};
pub use expected::expected_error;
use fault::Fault;
pub use folkmoot_protocol::codec::{Codec, CodecTextError, Recipe, RecipeFault, Rule, TILE};
pub use measure::{Measurement, measure};
pub use memory::{Memory, MemoryError, PendingMemory};
pub use parts::{Part, PartError, decode_parts, encode_part};
pub use recorded::wanted_products;
pub use tile::TileValues;

/// Runs a loop that is compiled for every instruction set the processor may have.
fn vectorised<R>(run: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(run)
}
