//! Transforms of values, and sums over them, which the codecs share.

pub(in crate::codec) mod hadamard;
pub(in crate::codec) mod lattice;
pub(in crate::codec) mod lloyd_max;
pub(in crate::codec) mod power;
pub(in crate::codec) mod random;
pub(in crate::codec) mod real;
pub(in crate::codec) mod rotation;
pub(in crate::codec) mod selection;
pub(in crate::codec) mod sums;
