use std::io::Write;
use std::marker::PhantomData;

use super::{Format, RecordError, Row, csv::CsvRows, json_lines::JsonLinesRows, parquet::ParquetRows};

/// A file of rows that is being written.
pub struct Rows<R: Row, W: Write + Send> {
    writer: Writer<W>,
    rows: PhantomData<fn(&R)>,
}

enum Writer<W: Write + Send> {
    Csv(Box<CsvRows<W>>),
    JsonLines(JsonLinesRows<W>),
    Parquet(Box<ParquetRows<W>>),
}

impl<R: Row, W: Write + Send> Rows<R, W> {
    /// Starts a file. The writer need not be buffered.
    ///
    /// # Errors
    /// [`RecordError`] if the header cannot be written.
    pub fn new(format: Format, writer: W) -> Result<Self, RecordError> {
        let writer = match format {
            Format::Csv => Writer::Csv(Box::new(CsvRows::new(R::COLUMNS, writer)?)),
            Format::JsonLines => Writer::JsonLines(JsonLinesRows::new(writer)),
            Format::Parquet => Writer::Parquet(Box::new(ParquetRows::new(R::COLUMNS, writer)?)),
        };
        Ok(Self { writer, rows: PhantomData })
    }

    /// Appends a row to the file.
    ///
    /// # Errors
    /// [`RecordError`] if the row cannot be written.
    pub fn push(&mut self, row: &R) -> Result<(), RecordError> {
        match &mut self.writer {
            Writer::Csv(writer) => writer.push(row),
            Writer::JsonLines(writer) => writer.push(row),
            Writer::Parquet(writer) => writer.push(row.cells()),
        }
    }

    /// Flushes the rows so far, for a reader that follows a running simulation. This does not help for a Parquet file,
    /// whose rows can be read only after its end is written.
    ///
    /// # Errors
    /// [`RecordError`] if the rows cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        match &mut self.writer {
            Writer::Csv(writer) => writer.flush(),
            Writer::JsonLines(writer) => writer.flush(),
            Writer::Parquet(_) => Ok(()),
        }
    }

    /// Ends the file and returns the writer. Without this call, a Parquet file is not valid.
    ///
    /// # Errors
    /// [`RecordError`] if the rest cannot be written.
    pub fn finish(self) -> Result<W, RecordError> {
        match self.writer {
            Writer::Csv(writer) => writer.finish(),
            Writer::JsonLines(writer) => writer.finish(),
            Writer::Parquet(writer) => writer.finish(),
        }
    }
}
