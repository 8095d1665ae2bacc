#![doc = include_str!("../README.md")]

mod error;
pub mod external;
pub mod limits;
pub mod locate;
#[allow(missing_docs, reason = "the names are those of onnx.proto3, which documents them")]
pub mod proto;
pub mod tensor;
pub mod wire;

pub use error::FileError;
pub use limits::ImportLimits;
