//! Populations: whose clients can take part.

pub(crate) mod list;

pub use list::PopulationView;
