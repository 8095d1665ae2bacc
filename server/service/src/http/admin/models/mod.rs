//! ONNX models for tasks.

pub(crate) mod create;
pub(crate) mod graph;
pub(crate) mod list;
pub(crate) mod parts;
