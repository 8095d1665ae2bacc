//! Tests of more than one codec.

mod arbitrary;
mod factors;
mod feedback;
mod fixtures;
mod golden;
mod statistics;
mod support;
