//! ONNX models that tasks train.

pub(crate) mod create;
pub(crate) mod graph;
pub(crate) mod list;

pub use create::ModelView;
pub use graph::ModelGraphView;
pub use list::ModelSummary;
