//! How updates and weights may travel: which codec each tensor gets. What a codec does to values is `folkmoot-update`'s.

mod choice;
mod fault;
mod recipe;
mod text;

pub use choice::{Codec, ROTATION_BLOCK, TILE};
pub use fault::RecipeFault;
pub use recipe::{Recipe, Rule};
pub use text::{CodecTextError, as_text, names};
