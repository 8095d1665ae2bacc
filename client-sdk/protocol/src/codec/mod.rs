//! How updates and weights may travel: which codec each tensor gets. What a codec does to values is `folkmoot-update`'s.

mod choice;
mod fault;
mod recipe;
mod text;

pub use choice::{Codec, ROTATION_BLOCK};
pub use fault::RecipeFault;
pub use recipe::{Recipe, Rule};
pub use text::{CodecTextError, as_text, names};

/// Values of a tile: what is decoded at once, and what every block divides.
pub const TILE: usize = 1 << 16;
