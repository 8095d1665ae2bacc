//! Populations: whose clients can take part.

pub mod list;
