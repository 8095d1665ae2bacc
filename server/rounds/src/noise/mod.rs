//! The noise of rounds: drawn ahead, taken once, correlated where a task asks for a stream.

mod draw;
mod sabotage;
mod stream;

pub use draw::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use sabotage::Sabotage;
pub use stream::StreamNoise;
