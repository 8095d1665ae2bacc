#![doc = include_str!("../README.md")]

mod cifar;
mod content;
mod csv;
mod dataset;
mod error;
mod file;
mod format;
mod guess;
mod idx;
mod images;
mod leaf;
mod limits;
mod moments;
mod npy;
mod npz;
mod options;
mod parquet;
mod pixels;
mod read;
pub mod schema;

pub use dataset::{Dataset, Groups};
pub use error::{DataError, Fault, Place};
pub use folkmoot_engine::data::LabelKind;
pub use format::Format;
pub use limits::Limits;
pub use npz::write as write_npz;
pub use options::ReadOptions;
pub use read::read;
