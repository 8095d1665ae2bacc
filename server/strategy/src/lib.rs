#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

#[cfg(not(feature = "wasmtime"))]
#[path = "absent.rs"]
mod wasm;
#[cfg(feature = "wasmtime")]
mod wasm;

mod commit;
mod error;
mod functions;
mod part;
mod role;
mod strategies;
mod strategy;
mod terms;

pub use commit::{
    AggregationCommit, ClientFacts, FinalizationCommit, Preferred, SelectionDraw, UpdateFacts,
    different_places,
};
pub use error::StrategyError;
pub use functions::{FUNCTIONS, Functions, UpdateValues};
pub use part::Part;
pub use role::Role;
pub use strategies::Strategies;
pub use strategy::Strategy;
pub use terms::Terms;
pub use wasm::{Aggregation, Compiled, Finalization};

/// True if this build can run components.
pub const IS_SUPPORTED: bool = cfg!(feature = "wasmtime");

/// The maximum size of a component's file in bytes. A component with a Python interpreter is the largest known kind.
pub const COMPONENT_BYTES_MAX: usize = 64 << 20;
