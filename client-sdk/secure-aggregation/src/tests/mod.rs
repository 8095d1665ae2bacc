//! Whole rounds between clients and a coordinator, without a network.

mod attacks;
mod blame;
pub mod committee;
mod sums;
mod view;
mod world;
