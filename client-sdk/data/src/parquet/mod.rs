//! Apache Parquet: numeric columns are features, one column is the label, and one may hold the group.

mod column;
mod guard;
mod schema;
mod thrift;

use std::{
    panic::{self, AssertUnwindSafe},
    path::Path,
};

use ::parquet::{
    errors::ParquetError,
    file::reader::{FileReader, RowGroupReader, SerializedFileReader},
};
use bytes::Bytes;
use column::{Chunk, Values};
use folkmoot_engine::Labels;
use schema::{Column, Columns};

use crate::{
    DataError, Fault, LabelKind, Place, ReadOptions, content::Content, dataset::GroupsBuilder, file,
};

/// Reads Parquet files. The files of a folder form one table and must have the same columns.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Content, DataError> {
    let is_wanted = |name: &str| name.ends_with(".parquet") || name.ends_with(".pq");
    let mut table = Table::new(options);
    for file in file::wanted(path, &options.limits, ".parquet file", is_wanted)? {
        let content = Bytes::from(file::bytes(&file, &options.limits)?);
        // The Parquet library panics on some damaged files.
        let pushed = panic::catch_unwind(AssertUnwindSafe(|| table.push_file(&file, &content)));
        pushed.unwrap_or_else(|_| {
            let fault = Fault::damaged("cannot be read as a Parquet file: its pages are inconsistent");
            Err(DataError::invalid(&file, fault))
        })?;
    }
    Ok(table.into_content())
}

/// Converts an error of the Parquet library.
fn unreadable(error: ParquetError) -> Fault {
    Fault::damaged(format!("cannot be read as a Parquet file: {error}"))
}

/// The rows read so far.
struct Table<'o> {
    options: &'o ReadOptions,
    features: Vec<f32>,
    /// The name and the number of values per row of each feature column and of the label. The first row group sets it.
    layout: Option<Vec<(String, usize)>>,
    classes: Vec<u32>,
    targets: Vec<f32>,
    groups: GroupsBuilder,
    rows: u64,
}

impl<'o> Table<'o> {
    fn new(options: &'o ReadOptions) -> Self {
        Self {
            options,
            features: Vec::new(),
            layout: None,
            classes: Vec::new(),
            targets: Vec::new(),
            groups: GroupsBuilder::default(),
            rows: 0,
        }
    }

    fn push_file(&mut self, path: &Path, content: &Bytes) -> Result<(), DataError> {
        let invalid = |fault| DataError::invalid(path, fault);
        guard::check_footer(content).map_err(invalid)?;
        let reader = SerializedFileReader::new(content.clone()).map_err(unreadable).map_err(invalid)?;
        let metadata = reader.metadata();
        let columns = Columns::new(metadata.file_metadata().schema_descr(), self.options).map_err(invalid)?;
        let mut first_row = 1;
        for (index, group) in metadata.row_groups().iter().enumerate() {
            let rows = u64::try_from(group.num_rows());
            let rows = rows.map_err(|_| invalid(Fault::damaged("declares a negative number of rows")))?;
            let values = rows.saturating_mul(columns.features.len() as u64);
            let values = values.saturating_add(self.features.len() as u64);
            self.options.limits.expect_room(path, self.rows.saturating_add(rows), values)?;
            let reader = reader.get_row_group(index).map_err(unreadable).map_err(invalid)?;
            let source = RowGroup { path, content, reader: reader.as_ref(), rows, first_row };
            self.push_rows(&columns, &source)?;
            self.rows += rows;
            first_row += rows;
        }
        Ok(())
    }

    /// Appends the rows of a row group.
    fn push_rows(&mut self, columns: &Columns, source: &RowGroup<'_>) -> Result<(), DataError> {
        if source.rows == 0 {
            return Ok(());
        }
        let invalid = |fault| DataError::invalid(source.path, fault);
        let mut room = self.options.limits.values_max.saturating_sub(self.features.len() as u64);
        let mut chunks = Vec::new();
        for column in &columns.features {
            let values = source.chunk(column, room, self.options)?.numbers().map_err(invalid)?;
            room = room.saturating_sub(values.values.len() as u64);
            chunks.push(values);
        }
        let labels = source.chunk(&columns.label, self.options.limits.values_max, self.options)?;
        let labels = labels.numbers().map_err(invalid)?;
        self.check_layout(columns, &chunks, &labels).map_err(invalid)?;
        self.push_labels(&columns.label, &labels, source.first_row).map_err(invalid)?;
        if let Some(column) = &columns.group {
            let names = source.chunk(column, self.options.limits.values_max, self.options)?;
            for name in names.texts().map_err(invalid)?.values {
                let number = self.groups.number(&name);
                self.groups.push(number);
            }
        }
        self.push_features(&columns.features, &chunks, source).map_err(invalid)
    }

    /// Refuses columns or list lengths that differ from those of earlier row groups.
    fn check_layout(
        &mut self,
        columns: &Columns,
        features: &[Values<f64>],
        labels: &Values<f64>,
    ) -> Result<(), Fault> {
        let named = columns.features.iter().chain([&columns.label]).map(|column| column.name.clone());
        let widths = features.iter().chain([labels]).map(|values| values.width);
        let found: Vec<(String, usize)> = named.zip(widths).collect();
        let expected = self.layout.get_or_insert_with(|| found.clone());
        if *expected == found {
            return Ok(());
        }
        let listed = |layout: &[(String, usize)]| {
            layout.iter().map(|(name, width)| format!("{name} ({width})")).collect::<Vec<_>>().join(", ")
        };
        let reason = format!(
            "has columns (values per row) that differ from earlier rows: {} instead of {}",
            listed(&found),
            listed(expected)
        );
        Err(Fault::new(reason, "read tables with the same columns and list lengths"))
    }

    fn push_labels(&mut self, column: &Column, labels: &Values<f64>, first_row: u64) -> Result<(), Fault> {
        if self.options.label_kind == LabelKind::Class && labels.width != 1 {
            let reason = format!("has {} class numbers per row", labels.width);
            let remedy = "choose a column with one number as the label, or read the labels as --targets";
            return Err(Fault::new(reason, remedy).at(Place::Column(column.name.clone())));
        }
        for (row, label) in (first_row..).zip(labels.values.chunks(labels.width)) {
            let at = || Place::Field { row, column: column.name.clone() };
            match self.options.label_kind {
                LabelKind::Class => self.classes.push(class(label[0]).map_err(|fault| fault.at(at()))?),
                LabelKind::Target => {
                    for target in label {
                        self.targets.push(finite(*target).map_err(|fault| fault.at(at()))?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Transposes columns to rows.
    fn push_features(
        &mut self,
        columns: &[Column],
        chunks: &[Values<f64>],
        source: &RowGroup<'_>,
    ) -> Result<(), Fault> {
        let mut parts: Vec<_> = chunks.iter().map(|chunk| chunk.values.chunks(chunk.width)).collect();
        self.features.reserve(chunks.iter().map(|chunk| chunk.values.len()).sum());
        for row in source.first_row..source.first_row + source.rows {
            for (column, part) in columns.iter().zip(&mut parts) {
                for value in part.next().unwrap_or_default() {
                    let value = finite(*value)
                        .map_err(|fault| fault.at(Place::Field { row, column: column.name.clone() }))?;
                    self.features.push(value);
                }
            }
        }
        Ok(())
    }

    fn into_content(self) -> Content {
        let layout = self.layout.unwrap_or_default();
        let (label_width, feature_widths) =
            layout.split_last().map_or((1, &[][..]), |(label, rest)| (label.1, rest));
        let width: usize = feature_widths.iter().map(|(_, width)| width).sum();
        let labels = match self.options.label_kind {
            LabelKind::Class => Labels::Classes(self.classes),
            LabelKind::Target if self.targets.is_empty() => Labels::Targets(Vec::new(), 1),
            LabelKind::Target => Labels::Targets(self.targets, label_width),
        };
        let groups = self.options.group_column.is_some().then(|| self.groups.finish());
        Content { features: self.features, shape: vec![width], labels, groups }
    }
}

/// One row group of a file.
struct RowGroup<'a> {
    path: &'a Path,
    content: &'a Bytes,
    reader: &'a dyn RowGroupReader,
    rows: u64,
    /// The number of the row group's first row in the file, from 1.
    first_row: u64,
}

impl RowGroup<'_> {
    /// Opens a column, after checking the sizes that its pages declare.
    fn chunk<'a>(
        &self,
        column: &'a Column,
        room: u64,
        options: &ReadOptions,
    ) -> Result<Chunk<'a>, DataError> {
        let at = |fault: Fault| DataError::invalid(self.path, fault.at(Place::Column(column.name.clone())));
        let metadata = self.reader.metadata().column(column.leaf);
        guard::check_chunk(self.content, metadata, &options.limits).map_err(at)?;
        let reader = self.reader.get_column_reader(column.leaf).map_err(unreadable).map_err(at)?;
        Ok(Chunk { column, reader, rows: self.rows, first_row: self.first_row, room })
    }
}

/// Converts a number to a class number. Class numbers may be stored as floats, such as `3.0`.
fn class(number: f64) -> Result<u32, Fault> {
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        return Ok(number as u32);
    }
    let remedy = "number the classes from 0, or read the labels as --targets";
    Err(Fault::new(format!("{number} is not a class number"), remedy))
}

fn finite(number: f64) -> Result<f32, Fault> {
    let value = number as f32;
    if value.is_finite() {
        return Ok(value);
    }
    Err(Fault::new(format!("{number} is not a finite float32"), "replace it, or remove the row"))
}

#[cfg(test)]
mod tests;
