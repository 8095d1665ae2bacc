//! Differential privacy on the coordinator's side: the noise of a round, the budget that ends a task, and the statement of
//! what is promised.

mod budget;
mod noise;
mod statement;

pub use budget::{Budget, clipping_norm, clipping_steps, is_spent, terms};
pub use noise::{DrawError, IS_SEEDED, Noises, noised_count, scale as noise_scale};
pub use statement::{Sentence, Statement, statement};
