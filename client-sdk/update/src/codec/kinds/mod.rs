//! One codec, or one family, a file: a tile of values to bytes, and back.

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
