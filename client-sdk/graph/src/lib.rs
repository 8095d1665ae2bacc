#![doc = include_str!("../README.md")]

pub mod autodiff;
mod cpu;
mod graph;
mod narrow;
pub mod op;
pub mod program;
pub mod random;
pub mod schedule;
pub mod step;

pub use cpu::{Element, multiply, vectorised};
pub use graph::{Graph, Node, Source, Value, ValueId};
pub use narrow::{ParameterAxes, leading, leading_ranges};
