//! Differential privacy on the coordinator: the noise of a round, the budget that ends a task, and the privacy
//! statement.

mod budget;
mod collect;
mod governance;
mod ground;
mod lineage;
pub mod planner;
mod statement;
mod uncounted;

pub use budget::{Budget, clipping_norm, clipping_steps, local_noise, population, terms};
pub use collect::may_collect;
pub use governance::{Standing, lineage_fault};
pub use ground::{Ground, Passed, is_spent};
pub use lineage::{ancestors, inherited};
pub use statement::statement;
pub use uncounted::{sampled_now, was_sampled};
