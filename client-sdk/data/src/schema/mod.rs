//! Schemas: rules that turn the columns of a table into numbers, in the same way on every client.

mod encode;
mod field;
mod infer;
mod rows;
mod sheet;
#[cfg(test)]
mod tests;

use std::path::Path;

pub(crate) use encode::read;
pub use folkmoot_protocol::{MissingValue, TableColumn, TableLabel, TableSchema};
pub use infer::{ColumnSummary, InferOptions, Inferred, infer};
pub use rows::count_rows;

use crate::{DataError, Fault, Limits, file};

/// The maximum size of a schema file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a schema from a JSON file.
///
/// # Errors
/// [`DataError`] if the file cannot be read, is not a schema, or contradicts itself.
pub fn read_file(path: &Path) -> Result<TableSchema, DataError> {
    let limits = Limits { file_bytes_max: FILE_BYTES_MAX, ..Limits::default() };
    let content = file::bytes(path, &limits)?;
    let schema: TableSchema = serde_json::from_slice(&content).map_err(|error| {
        let remedy = "make one with `folkmoot data schema`, or correct it";
        DataError::invalid(path, Fault::new(format!("is not a schema: {error}"), remedy))
    })?;
    schema.check().map_err(|fault| DataError::invalid(path, fault.into()))?;
    Ok(schema)
}

impl From<folkmoot_protocol::Fault> for Fault {
    /// Drops the path in the schema, because the message names the column.
    fn from(fault: folkmoot_protocol::Fault) -> Self {
        Self::new(fault.message, fault.remedy)
    }
}
