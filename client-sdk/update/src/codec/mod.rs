//! Codecs for updates and weights: fewer bytes, and how much is lost.
//!
//! A [`Recipe`] says which [`Codec`] each tensor gets, [`encode()`] writes a payload, and a [`Decoder`] reads
//! it in pieces of any size and shows it tile by tile, so that the coordinator adds up an update that it
//! never holds. Everything random comes from the payload's seed. What a biased codec leaves out is kept in a
//! [`Memory`] on the device.

mod coding;
mod fault;
mod format;
mod kinds;
#[cfg(test)]
mod tests;
mod transform;

use fault::Fault;
pub use folkmoot_protocol::codec::{Codec, CodecTextError, Recipe, RecipeFault, Rule, TILE};
pub use format::decode::{CutOff, Decoder, PayloadError, Tile, decode};
pub use format::encode::{EncodeError, Encoded, encode, encode_recorded};
pub use format::measure::{Measurement, measure};
pub use format::memory::{Memory, MemoryError, PendingMemory};
pub use format::parts::{Part, PartError, decode_parts, encode_part};
pub use format::recorded::wanted_products;
pub use format::tile::TileValues;
pub use kinds::expected::expected_error;

/// Runs a loop that is compiled for every instruction set the processor may have.
fn vectorised<R>(run: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(run)
}
