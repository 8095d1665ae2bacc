#![doc = include_str!("../README.md")]

pub mod column;
mod report;

pub use report::{ColumnReport, Layout, schema};
