//! What every executor decides first: which operations run as one, and which values may share memory.

mod fuse;
mod memory;

pub(crate) use fuse::{Group, Instruction, Operand, chain, group, needed_nodes, readers};
pub(crate) use memory::{Lifetime, most_alive, place};
