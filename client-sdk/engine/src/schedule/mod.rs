//! What every executor decides first: which operations run as one, and which values may share memory.

mod fuse;
mod memory;

#[cfg(feature = "gpu")]
pub(crate) use fuse::readers;
pub(crate) use fuse::{Group, chain, group, needed_nodes};
pub(crate) use memory::{Lifetime, most_alive, place};
