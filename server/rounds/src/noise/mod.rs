//! The noise of rounds. It is drawn ahead and used once. Some mechanisms correlate it between versions.

mod draw;
mod sabotage;
mod stream;

pub use draw::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use sabotage::Sabotage;
pub use stream::StreamNoise;
