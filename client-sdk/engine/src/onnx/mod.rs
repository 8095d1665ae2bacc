//! ONNX in and out.
//!
//! Import decodes the protobuf under limits and checks it; when the batch size is known, the nodes are lowered to
//! a graph of primitives. Export writes new weights into a copy of the imported bytes and changes nothing else.

mod attributes;
mod budget;
pub mod build;
mod decode;
mod error;
mod export;
mod import;
mod limits;
mod locate;
mod lowering;
mod mode;
mod model_file;
pub mod network;
mod node;
mod operators;
mod proto;
mod tensor;
mod wire;

pub use error::{ExportError, ImportError};
use export::with_weights;
pub use import::ModelNode;
pub use limits::ImportLimits;
use locate::Chunks;
pub(crate) use lowering::Lowered;
pub(crate) use mode::Mode;
pub(crate) use model_file::ModelFile;
pub use operators::SUPPORTED_OPERATORS;

#[cfg(test)]
mod tests;
