//! What every executor decides first: which operations run as one, and which values may share memory.

mod fuse;
mod memory;

pub use fuse::readers;
pub use fuse::{Group, chain, group, needed_nodes};
pub use memory::{Lifetime, most_alive, place};
