//! Codecs for updates and weights, which reduce their size with a limited loss.
//!
//! A [`Recipe`] assigns a [`Codec`] to each tensor, and [`encode()`] writes a payload. A [`Decoder`] reads the payload
//! in pieces of any size and passes on its tiles, so that the coordinator can add up an update without storing it. All
//! random choices derive from the payload's seed. A [`Memory`] on the device keeps the residual of biased codecs.

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

/// Runs a loop that is compiled for each supported instruction set, using the best one of this CPU.
fn vectorised<R>(run: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(run)
}
