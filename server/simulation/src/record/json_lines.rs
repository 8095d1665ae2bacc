use std::io::{BufWriter, Write};

use serde::Serialize;

use super::RecordError;

/// Rows as JSON objects, one on each line.
pub(super) struct JsonLinesRows<W: Write> {
    writer: BufWriter<W>,
}

impl<W: Write> JsonLinesRows<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer: BufWriter::new(writer) }
    }

    pub(super) fn push(&mut self, row: &impl Serialize) -> Result<(), RecordError> {
        serde_json::to_writer(&mut self.writer, row)?;
        Ok(self.writer.write_all(b"\n")?)
    }

    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        Ok(self.writer.flush()?)
    }

    pub(super) fn finish(self) -> Result<W, RecordError> {
        self.writer.into_inner().map_err(|error| RecordError::Write(error.into_error()))
    }
}
