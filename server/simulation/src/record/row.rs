use serde::Serialize;

/// The kind of values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers, 0 or more.
    Count,
    /// Real numbers.
    Number,
    /// Texts.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's name, which ends in its unit.
    pub name: &'static str,
    /// The kind of the column's values.
    pub kind: ColumnKind,
    /// True if a row may have no value in this column.
    pub is_optional: bool,
}

/// The value of a row in one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// No value.
    Empty,
}

/// A record that is a row of a table. The columns are the record's serde fields, in order.
pub trait Row: Serialize {
    /// The columns, in the order of the cells.
    const COLUMNS: &'static [Column];

    /// Returns one cell for each column.
    fn cells(&self) -> Vec<Cell>;
}

impl Column {
    /// Creates a column in which every row has a value.
    pub(super) const fn always(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind, is_optional: false }
    }

    /// Creates a column in which a row may have no value.
    pub(super) const fn sometimes(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind, is_optional: true }
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Self {
        Cell::Count(count)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Self {
        cell.map_or(Cell::Empty, Into::into)
    }
}
