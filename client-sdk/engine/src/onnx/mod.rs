//! ONNX in and out.
//!
//! Import decodes the protobuf under limits, checks it, and lowers it to a graph of typed operators;
//! export writes new weights into a copy of the imported bytes and changes nothing else.

mod attributes;
pub mod build;
mod error;
mod export;
mod import;
mod limits;
mod locate;
mod operators;
mod proto;
mod tensor;
mod wire;

pub use error::{ExportError, ImportError};
pub(crate) use export::with_weights;
pub(crate) use import::{Imported, import};
pub use limits::ImportLimits;
pub(crate) use locate::{Chunks, elements};
pub use operators::SUPPORTED_OPERATORS;

#[cfg(test)]
mod tests;
