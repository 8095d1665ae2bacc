//! The codecs, one or one family per file. Each encodes and decodes a tile of values.

pub(in crate::codec) mod deep_gradient;
pub(in crate::codec) mod eden;
pub(in crate::codec) mod expected;
pub(in crate::codec) mod factors;
pub(in crate::codec) mod levels;
pub(in crate::codec) mod one_bit;
pub(in crate::codec) mod random_k;
pub(in crate::codec) mod sparse;
pub(in crate::codec) mod uniform;
pub(in crate::codec) mod weights;
