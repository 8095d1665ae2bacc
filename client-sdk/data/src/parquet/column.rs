//! Reads the values of one column of one row group.

use ::parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::DataType,
};

use super::{
    schema::{Column, Kind},
    unreadable,
};
use crate::{Fault, Place};

/// The number of rows decoded at a time.
const BATCH_ROWS: u64 = 1024;

/// A column of a row group, ready for reading.
pub(super) struct Chunk<'a> {
    pub(super) column: &'a Column,
    pub(super) reader: ColumnReader,
    /// The number of rows in the row group.
    pub(super) rows: u64,
    /// The number of the first row in the file, from 1.
    pub(super) first_row: u64,
    /// The number of values that may still be read before the limit `values_max` is exceeded.
    pub(super) room: u64,
}

/// The values of a column of a row group, row by row.
pub(super) struct Values<V> {
    pub(super) values: Vec<V>,
    /// The number of values per row, at least 1.
    pub(super) width: usize,
}

/// The position of the current rows in the file, and the limits for reading them.
struct Rows<'a> {
    column: &'a Column,
    rows: u64,
    first_row: u64,
    room: u64,
}

impl Chunk<'_> {
    /// Reads numbers, or lists of numbers with equal lengths.
    pub(super) fn numbers(self) -> Result<Values<f64>, Fault> {
        let (rows, reader) = self.split();
        let is_unsigned = rows.column.kind == Kind::Unsigned;
        match reader {
            ColumnReader::BoolColumnReader(reader) => rows.read(reader, |value| Ok(f64::from(*value))),
            ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
                rows.read(reader, |value| Ok(f64::from(value.cast_unsigned())))
            }
            ColumnReader::Int32ColumnReader(reader) => rows.read(reader, |value| Ok(f64::from(*value))),
            ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
                rows.read(reader, |value| Ok(value.cast_unsigned() as f64))
            }
            ColumnReader::Int64ColumnReader(reader) => rows.read(reader, |value| Ok(*value as f64)),
            ColumnReader::FloatColumnReader(reader) => rows.read(reader, |value| Ok(f64::from(*value))),
            ColumnReader::DoubleColumnReader(reader) => rows.read(reader, |value| Ok(*value)),
            _ => Err(rows.fault("does not hold numbers", "choose another column")),
        }
    }

    /// Reads names: texts, or integers formatted as text.
    pub(super) fn texts(self) -> Result<Values<String>, Fault> {
        let (rows, reader) = self.split();
        let is_unsigned = rows.column.kind == Kind::Unsigned;
        match reader {
            ColumnReader::ByteArrayColumnReader(reader) => rows.read(reader, |value| {
                let text = value.as_utf8().map_err(|_| Fault::damaged("has a text that is not UTF-8"))?;
                Ok(text.to_owned())
            }),
            ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
                rows.read(reader, |value| Ok(value.cast_unsigned().to_string()))
            }
            ColumnReader::Int32ColumnReader(reader) => rows.read(reader, |value| Ok(value.to_string())),
            ColumnReader::Int64ColumnReader(reader) if is_unsigned => {
                rows.read(reader, |value| Ok(value.cast_unsigned().to_string()))
            }
            ColumnReader::Int64ColumnReader(reader) => rows.read(reader, |value| Ok(value.to_string())),
            _ => Err(rows.fault("is neither text nor whole numbers", "choose another --group-column")),
        }
    }
}

impl<'a> Chunk<'a> {
    fn split(self) -> (Rows<'a>, ColumnReader) {
        let Self { column, reader, rows, first_row, room } = self;
        (Rows { column, rows, first_row, room }, reader)
    }
}

impl Rows<'_> {
    fn read<T: DataType, V>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        convert: impl Fn(&T::T) -> Result<V, Fault>,
    ) -> Result<Values<V>, Fault> {
        let mut found = Values { values: Vec::new(), width: 0 };
        let (mut definitions, mut repetitions, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        while done < self.rows {
            definitions.clear();
            repetitions.clear();
            batch.clear();
            let wanted = usize::try_from((self.rows - done).min(BATCH_ROWS)).unwrap_or(1);
            let (levels, lists) = (Some(&mut definitions), Some(&mut repetitions));
            let read = reader.read_records(wanted, levels, lists, &mut batch);
            let (rows, _, _) = read.map_err(|error| unreadable(error).at(self.place()))?;
            if rows == 0 {
                let reason = format!("holds {done} rows, but the file declares {}", self.rows);
                return Err(self.fault(&reason, crate::error::DAMAGED));
            }
            self.check_nulls(&definitions, &repetitions, done)?;
            self.check_widths(&mut found.width, &repetitions, done)?;
            if batch.len() != rows * found.width {
                return Err(self.fault("does not have a value for each row", crate::error::DAMAGED));
            }
            if (found.values.len() + batch.len()) as u64 > self.room {
                let reason = "the file has more values than the limit values_max allows";
                return Err(self.fault(reason, "use a part of the rows, or raise values_max"));
            }
            for value in &batch {
                found.values.push(convert(value).map_err(|fault| fault.at(self.place()))?);
            }
            done += rows as u64;
        }
        Ok(found)
    }

    /// Refuses null rows and null list elements.
    fn check_nulls(&self, definitions: &[i16], repetitions: &[i16], done: u64) -> Result<(), Fault> {
        let Some(index) = definitions.iter().position(|level| *level < self.column.definition_max) else {
            return Ok(());
        };
        let row = match self.column.repetition_max {
            0 => index as u64,
            _ => repetitions.iter().take(index + 1).filter(|level| **level == 0).count().max(1) as u64 - 1,
        };
        let place = self.field(done + row);
        Err(Fault::new("is null or an empty list", "fill it, or remove the row").at(place))
    }

    /// Refuses lists of different lengths.
    fn check_widths(&self, width: &mut usize, repetitions: &[i16], done: u64) -> Result<(), Fault> {
        if self.column.repetition_max == 0 {
            *width = 1;
            return Ok(());
        }
        let starts = repetitions.iter().enumerate().filter(|(_, level)| **level == 0).map(|(index, _)| index);
        let ends = starts.clone().skip(1).chain([repetitions.len()]);
        for (row, (start, end)) in starts.zip(ends).enumerate() {
            let found = end - start;
            if *width == 0 {
                *width = found;
            }
            if found != *width {
                let reason = format!("has a list of {found} values, but earlier rows have {width}");
                let place = self.field(done + row as u64);
                return Err(Fault::new(reason, "give all rows lists of the same length").at(place));
            }
        }
        Ok(())
    }

    fn place(&self) -> Place {
        Place::Column(self.column.name.clone())
    }

    /// Returns the position of a row of this row group; `row` is counted from 0.
    fn field(&self, row: u64) -> Place {
        Place::Field { row: self.first_row + row, column: self.column.name.clone() }
    }

    fn fault(&self, reason: &str, remedy: &str) -> Fault {
        Fault::new(reason, remedy).at(self.place())
    }
}
