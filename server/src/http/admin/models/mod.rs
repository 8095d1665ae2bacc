//! ONNX models that tasks train.

pub(crate) mod create;

pub use create::ModelView;
