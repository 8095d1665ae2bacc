//! Finds the columns of features, label and group.

use ::parquet::{
    basic::{ConvertedType, LogicalType, Type as PhysicalType},
    schema::types::{ColumnDescriptor, SchemaDescriptor},
};

use crate::{Fault, Place, ReadOptions};

/// The prefix of the index columns that pandas stores.
const PANDAS_INDEX: &str = "__index_level_";

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers, or lists of numbers.
    Number,
    /// Unsigned integers, or lists of unsigned integers.
    Unsigned,
    Text,
    /// An unsupported type.
    Other,
}

/// A column to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    /// The index of the column among the leaves of the schema.
    pub(super) leaf: usize,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The definition level of a value that is not null.
    pub(super) definition_max: i16,
    /// The repetition level; above 0 for lists.
    pub(super) repetition_max: i16,
}

/// The columns by purpose.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) features: Vec<Column>,
    pub(super) label: Column,
    pub(super) group: Option<Column>,
}

impl Columns {
    /// Finds the columns. The label is the named column, or else the last; all others except the group are features.
    pub(super) fn new(schema: &SchemaDescriptor, options: &ReadOptions) -> Result<Self, Fault> {
        let mut columns = columns(schema);
        let names = columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", ");
        let mut take = |name: &str| {
            let position = columns.iter().position(|column| column.name == name);
            position.map(|position| columns.remove(position)).ok_or_else(|| {
                let remedy = format!("the columns are {names}");
                Fault::new(format!("there is no column named {name}"), remedy)
            })
        };
        let group = options.group_column.as_deref().map(&mut take).transpose()?;
        let label = match options.label_column.as_deref() {
            Some(name) => take(name)?,
            None => columns.pop().ok_or_else(|| too_few(&names))?,
        };
        if columns.is_empty() {
            return Err(too_few(&names));
        }
        for column in columns.iter().chain([&label]) {
            expect_numbers(column)?;
        }
        if let Some(column) =
            group.as_ref().filter(|column| column.kind == Kind::Other || column.repetition_max > 0)
        {
            let fault = Fault::new("is neither text nor whole numbers", "choose another --group-column");
            return Err(fault.at(Place::Column(column.name.clone())));
        }
        Ok(Self { features: columns, label, group })
    }
}

fn too_few(names: &str) -> Fault {
    let remedy = "add columns until there are at least one column of features and one of labels";
    Fault::new(format!("has too few columns: {names}"), remedy)
}

fn expect_numbers(column: &Column) -> Result<(), Fault> {
    let (reason, remedy) = match column.kind {
        Kind::Number | Kind::Unsigned => return Ok(()),
        Kind::Text => ("is text", "convert it to numbers, remove it, or make it the --group-column"),
        Kind::Other => {
            let remedy = "remove it, or write it as integers, float32, float64 or lists of these";
            ("has an unsupported type", remedy)
        }
    };
    Err(Fault::new(reason, remedy).at(Place::Column(column.name.clone())))
}

/// Returns all columns in order, without the index columns of pandas.
fn columns(schema: &SchemaDescriptor) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut last_root = None;
    for (leaf, descriptor) in schema.columns().iter().enumerate() {
        let name = descriptor.path().parts().first().cloned().unwrap_or_default();
        if name.starts_with(PANDAS_INDEX) {
            continue;
        }
        let root = schema.get_column_root_idx(leaf);
        if last_root == Some(root) {
            // A column with several leaves is not numeric.
            if let Some(column) = columns.last_mut() {
                column.kind = Kind::Other;
            }
            continue;
        }
        last_root = Some(root);
        columns.push(Column {
            leaf,
            name,
            kind: kind(descriptor),
            definition_max: descriptor.max_def_level(),
            repetition_max: descriptor.max_rep_level(),
        });
    }
    columns
}

fn kind(descriptor: &ColumnDescriptor) -> Kind {
    let number = match descriptor.physical_type() {
        PhysicalType::BOOLEAN | PhysicalType::INT32 | PhysicalType::INT64 => Kind::Number,
        PhysicalType::FLOAT | PhysicalType::DOUBLE => Kind::Number,
        PhysicalType::BYTE_ARRAY => return text(descriptor),
        PhysicalType::INT96 | PhysicalType::FIXED_LEN_BYTE_ARRAY => return Kind::Other,
    };
    match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => Kind::Unsigned,
        (Some(LogicalType::Integer(_)), _) => number,
        // Dates, times and decimals would be misread as plain numbers.
        (Some(_), _) => Kind::Other,
        (
            None,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64,
        ) => Kind::Unsigned,
        (
            None,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => number,
        (None, _) => Kind::Other,
    }
}

fn text(descriptor: &ColumnDescriptor) -> Kind {
    match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::String | LogicalType::Enum), _) => Kind::Text,
        (None, ConvertedType::UTF8 | ConvertedType::ENUM) => Kind::Text,
        _ => Kind::Other,
    }
}
