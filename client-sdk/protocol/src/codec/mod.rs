//! The choice of a codec for each tensor of an update or of weights. `folkmoot-update` implements the codecs.

mod choice;
mod fault;
mod recipe;
mod text;

pub use choice::{Codec, ROTATION_BLOCK};
pub use fault::RecipeFault;
pub use recipe::{Recipe, Rule};
pub use text::{CodecTextError, as_text, names};

/// Values per tile. A tile is decoded at once, and its length is a multiple of every block length.
pub const TILE: usize = 1 << 16;
