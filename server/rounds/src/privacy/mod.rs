//! Differential privacy on the coordinator's side: the noise of a round, the budget that ends a task, and the statement of
//! what is promised.

mod budget;
mod collect;
mod governance;
mod ground;
mod lineage;
mod noise;
pub mod planner;
mod sabotage;
mod statement;
mod stream;
mod uncounted;

pub use budget::{Budget, clipping_norm, clipping_steps, local_noise, population, terms};
pub use collect::{Charged, may_collect};
pub use governance::{Standing, lineage_fault};
pub use ground::{Ground, Passed, is_spent};
pub use lineage::{ancestors, inherited};
pub use noise::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use sabotage::Sabotage;
pub use statement::statement;
pub use stream::StreamNoise;
pub use uncounted::{sampled_now, was_sampled};
