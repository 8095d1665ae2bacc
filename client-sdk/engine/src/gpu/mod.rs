//! The GPU executor: the same graphs as on the CPU, as a fixed list of dispatches.
//!
//! Kernels are WGSL, written for WebGPU's default limits, and see tensors only through functions that are generated for
//! them: these know where a tensor lies, whether it is stored with 16 bits, in how many bindings it is split, and
//! which elementwise operations are computed on the way. Sums have a fixed order and there are no atomic floats, so
//! the same seed on the same adapter gives the same bytes.

mod accessor;
mod adapter;
mod compile;
mod device;
mod dispatches;
mod draft;
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
mod update;
mod view;
mod weights;

#[cfg(test)]
mod tests;

pub use adapter::{Adapter, AdapterReport};
pub use device::Gpu;
pub(crate) use draft::{TrainingDraft, TrainingSetting};
pub use error::GpuError;
pub use measure::{AdapterPeak, Clock};
pub use profile::KernelTime;
pub(crate) use training::GpuTraining;
