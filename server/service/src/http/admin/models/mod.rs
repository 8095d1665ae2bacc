//! ONNX models that tasks train.

pub(crate) mod create;
pub(crate) mod graph;
pub(crate) mod list;
