//! Decisions shared by all executors: which operators are fused, and which values share memory.

mod fuse;
mod memory;

pub use fuse::readers;
pub use fuse::{Group, chain, group, needed_nodes};
pub use memory::{Lifetime, most_alive, place};
