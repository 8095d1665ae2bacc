#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "complete"),
    allow(dead_code, reason = "some functions serve only the complete importer")
)]

mod attributes;
mod budget;
pub mod build;
mod data_schema;
mod decode;
mod error;
mod export;
#[cfg(feature = "complete")]
mod functions;
mod import;
mod initializer;
mod inputs;
#[cfg(feature = "complete")]
mod linear;
mod lookup;
mod lowering;
mod mode;
mod model_file;
pub mod network;
mod node;
mod operators;
mod outputs;
mod parameter;
#[cfg(feature = "complete")]
mod precision;
mod prepare;
#[cfg(feature = "complete")]
mod unsupported;
mod weights;

pub use folkmoot_onnx_file::{FileError, ImportLimits};
use folkmoot_onnx_file::{limits, locate, locate::Chunks, proto, tensor, wire};

pub use data_schema::{IMAGE_SCHEMA_KEY, TABLE_SCHEMA_KEY, read_data_schema, write_data_schema};
pub use error::{ExportError, ImportError, UnsupportedOperator};
use export::with_weights;
pub use import::{FinalActivation, ModelNode};
pub use inputs::ModelInput;
pub use lookup::{Lookup, Lookups};
pub use lowering::Lowered;
pub use mode::Mode;
pub use model_file::ModelFile;
#[cfg(feature = "complete")]
pub use operators::SUPPORTED_ML_OPERATORS;
pub use operators::SUPPORTED_OPERATORS;
pub use outputs::{ModelOutput, Obstacle};
pub use parameter::{ParameterKind, ParameterSpec};
pub use weights::Remark;

#[cfg(test)]
#[cfg(feature = "complete")]
mod tests;
