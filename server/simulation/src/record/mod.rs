//! The records of a simulation and their file formats: the same columns as CSV, JSON lines or Parquet.
//!
//! A number that is infinite or NaN, such as the loss of a model that diverged, becomes `null` in JSON lines, because
//! JSON cannot express it. The other formats store the number unchanged.

mod client_row;
mod csv;
mod error;
mod format;
mod json_lines;
mod parquet;
mod round_row;
mod row;
mod rows;

pub use client_row::{AssignmentEnd, ClientRow};
pub use error::RecordError;
pub use format::Format;
pub use round_row::{RoundOutcome, RoundRow};
pub use row::{Cell, Column, ColumnKind, Row};
pub use rows::Rows;

#[cfg(test)]
mod tests;
