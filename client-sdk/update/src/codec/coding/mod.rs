//! Converts symbols and numbers to bits and back.

pub(in crate::codec) mod bits;
pub(in crate::codec) mod bytes;
pub(in crate::codec) mod entropy;
pub(in crate::codec) mod floats;
pub(in crate::codec) mod groups;
pub(in crate::codec) mod halves;
pub(in crate::codec) mod rice;
pub(in crate::codec) mod symbols;
