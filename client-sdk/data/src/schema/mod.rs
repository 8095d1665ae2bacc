//! Schemas: rules that turn tables and images into numbers, in the same way on every client.

mod encode;
mod field;
mod infer;
mod rows;
mod sheet;
#[cfg(test)]
mod tests;

use std::path::Path;

pub(crate) use encode::read;
pub use folkmoot_protocol::{
    DataSchema, ImageFit, ImageSchema, MissingValue, TableColumn, TableLabel, TableSchema,
};
pub use infer::{ColumnSummary, InferOptions, Inferred, infer};
pub use rows::count_rows;

pub use crate::images::{ImageInferOptions, InferredImages, count as count_images, infer as infer_images};
use crate::{DataError, Fault, Limits, file};

/// The maximum size of a schema file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a schema from a JSON file.
///
/// # Errors
/// [`DataError`] if the file cannot be read, is not a schema, or contradicts itself.
pub fn read_file(path: &Path) -> Result<DataSchema, DataError> {
    let limits = Limits { file_bytes_max: FILE_BYTES_MAX, ..Limits::default() };
    let content = file::bytes(path, &limits)?;
    let schema: DataSchema = serde_json::from_slice(&content).map_err(|error| {
        let remedy = "make one with `folkmoot data schema`, or correct it";
        DataError::invalid(path, Fault::new(format!("is not a schema: {error}"), remedy))
    })?;
    schema.check().map_err(|fault| DataError::invalid(path, fault.into()))?;
    Ok(schema)
}

impl From<folkmoot_protocol::Fault> for Fault {
    /// Names the field of an image's schema. The message of a table's schema names the column already.
    fn from(fault: folkmoot_protocol::Fault) -> Self {
        let reason = match fault.field.strip_prefix("images.") {
            Some(field) => format!("{field} {}", fault.message),
            None => fault.message,
        };
        Self::new(reason, fault.remedy)
    }
}
