use std::io::Write;

use serde::Serialize;

use super::{Column, RecordError};

/// Rows as comma-separated values.
pub(super) struct CsvRows<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvRows<W> {
    pub(super) fn new(columns: &[Column], writer: W) -> Result<Self, RecordError> {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(writer);
        // Write the header here instead of with the first row, so that a file without rows has a header, too.
        writer.write_record(columns.iter().map(|column| column.name))?;
        Ok(Self { writer })
    }

    pub(super) fn push(&mut self, row: &impl Serialize) -> Result<(), RecordError> {
        Ok(self.writer.serialize(row)?)
    }

    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        Ok(self.writer.flush()?)
    }

    pub(super) fn finish(self) -> Result<W, RecordError> {
        self.writer.into_inner().map_err(|error| RecordError::Write(error.into_error()))
    }
}
