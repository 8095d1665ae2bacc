#![doc = include_str!("../README.md")]

mod accessor;
mod adapter;
mod compile;
mod device;
mod error;
mod fusion;
mod kernels;
mod layout;
mod lowering;
mod math;
mod measure;
mod once;
mod plan;
mod precision;
mod profile;
mod program;
mod tensor;
mod tile;
mod training;
mod traits;
mod uniform;
mod view;

#[cfg(test)]
mod tests;

pub use adapter::{Adapter, AdapterReport};
pub use device::Gpu;
pub use error::GpuError;
pub use measure::{AdapterPeak, Clock};
pub use once::Once;
pub use profile::KernelTime;
pub use training::{GpuTraining, TrainingDraft, TrainingSetting};
