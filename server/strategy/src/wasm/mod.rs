//! The runtime: compiles components and calls them within limits.

mod aggregation;
mod bindings;
mod compiled;
mod finalization;
mod memory;
mod run;
mod selection;
mod text;

pub use aggregation::Aggregation;
pub use compiled::Compiled;
pub use finalization::Finalization;
pub(super) use selection::{check as check_selection, select};
