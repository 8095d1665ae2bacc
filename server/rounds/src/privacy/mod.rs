//! Differential privacy on the coordinator's side: the noise of a round, the budget that ends a task, and the statement of
//! what is promised.

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
