use std::io::Write;
use std::sync::Arc;

use parquet::{
    basic::{LogicalType, Repetition, Type as PhysicalType},
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};

use super::{Cell, Column, ColumnKind, RecordError};

/// The number of rows that are collected in memory and then written as one row group.
const ROWS_PER_GROUP: usize = 65_536;

/// Rows as Apache Parquet: counts are INT64, numbers DOUBLE, and texts UTF-8 BYTE_ARRAY.
pub(super) struct ParquetRows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: &'static [Column],
    /// The cells of the rows that are not yet written, column by column.
    cells: Vec<Vec<Cell>>,
    rows: usize,
}

impl<W: Write + Send> ParquetRows<W> {
    pub(super) fn new(columns: &'static [Column], writer: W) -> Result<Self, RecordError> {
        let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>, ParquetError>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_created_by("folkmoot".to_owned()).build();
        let writer = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer, columns, cells: vec![Vec::new(); columns.len()], rows: 0 })
    }

    pub(super) fn push(&mut self, cells: Vec<Cell>) -> Result<(), RecordError> {
        for (index, column) in self.columns.iter().enumerate() {
            let fits = cells.get(index).is_some_and(|cell| column.holds(cell));
            if !fits {
                return Err(RecordError::WrongCell { column: column.name });
            }
        }
        self.cells.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
        self.rows += 1;
        if self.rows >= ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> Result<W, RecordError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        Ok(self.writer.into_inner()?)
    }

    fn write_group(&mut self) -> Result<(), RecordError> {
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter().zip(&mut self.cells);
        while let Some(mut writer) = group.next_column()? {
            if let Some((column, cells)) = columns.next() {
                write_column(column, cells, writer.untyped())?;
                cells.clear();
            }
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Column {
    fn holds(&self, cell: &Cell) -> bool {
        match cell {
            Cell::Count(_) => self.kind == ColumnKind::Count,
            Cell::Number(_) => self.kind == ColumnKind::Number,
            Cell::Text(_) => self.kind == ColumnKind::Text,
            Cell::Empty => self.is_optional,
        }
    }
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.kind {
        ColumnKind::Count => (PhysicalType::INT64, None),
        ColumnKind::Number => (PhysicalType::DOUBLE, None),
        ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(column.name, physical);
    Ok(Arc::new(builder.with_repetition(repetition).with_logical_type(logical).build()?))
}

fn write_column(column: &Column, cells: &[Cell], writer: &mut ColumnWriter<'_>) -> Result<(), RecordError> {
    // In an optional column, the level of a row is 1 if the row has a value and 0 otherwise. Only existing values are
    // written.
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(*cell != Cell::Empty)).collect();
    let levels = column.is_optional.then_some(levels.as_slice());
    match writer {
        ColumnWriter::Int64ColumnWriter(writer) => {
            let counts = cells.iter().filter_map(|cell| match cell {
                // Most readers of the format support signed integers best.
                Cell::Count(count) => Some(i64::try_from(*count).unwrap_or(i64::MAX)),
                _ => None,
            });
            writer.write_batch(&counts.collect::<Vec<i64>>(), levels, None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers = cells.iter().filter_map(|cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            });
            writer.write_batch(&numbers.collect::<Vec<f64>>(), levels, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = cells.iter().filter_map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            writer.write_batch(&texts.collect::<Vec<ByteArray>>(), levels, None)?;
        }
        _ => return Err(RecordError::WrongCell { column: column.name }),
    }
    Ok(())
}
