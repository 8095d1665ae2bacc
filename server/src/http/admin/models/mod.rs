//! ONNX models that tasks train.

pub mod create;
