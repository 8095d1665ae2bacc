//! Tests of the engine's public API.
//!
//! All tests are in one binary: linking each separately would take longer than most of them run.

mod accumulation;
#[cfg(feature = "gpu")]
#[path = "../../gpu/src/tests/adapter.rs"]
mod adapter;
mod augmentation;
mod chosen;
mod constraints;
mod digits;
mod digits_example;
mod example_privacy;
mod export;
mod fuzz;
mod gpu;
mod meant;
mod memory;
mod onnx_backend;
mod optimizers;
mod outer_products;
mod outputs;
mod personal_training;
mod plans;
mod restart;
mod resume;
mod scikit;
mod training;
mod trajectories;
mod zoo;

#[cfg(feature = "gpu")]
use folkmoot_engine::Gpu;
