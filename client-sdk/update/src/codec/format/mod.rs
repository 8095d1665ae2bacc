//! The whole payload: its header, the tag of each tensor, and its tiles.

pub(in crate::codec) mod decode;
pub(in crate::codec) mod encode;
pub(in crate::codec) mod measure;
pub(in crate::codec) mod memory;
pub(in crate::codec) mod parts;
pub(in crate::codec) mod payload;
pub(in crate::codec) mod recorded;
pub(in crate::codec) mod tag;
pub(in crate::codec) mod tile;
