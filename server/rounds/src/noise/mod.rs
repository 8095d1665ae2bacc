//! The noise of rounds. It is drawn ahead, used once, and correlated between versions if the task's mechanism needs it.

mod draw;
mod sabotage;
mod stream;

pub use draw::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use sabotage::Sabotage;
pub use stream::StreamNoise;
