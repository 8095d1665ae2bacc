use serde::Serialize;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Whole numbers of 0 or more.
    Count,
    /// Real numbers.
    Number,
    /// Texts.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether a row may have nothing there.
    pub is_optional: bool,
}

/// What a row has in one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Nothing.
    Empty,
}

/// A record that is a row of a table. Its serde fields are its columns, in order.
pub trait Row: Serialize {
    /// The columns.
    const COLUMNS: &'static [Column];

    /// Returns a cell for each column.
    fn cells(&self) -> Vec<Cell>;
}

impl Column {
    /// A column in which every row has something.
    pub(super) const fn always(name: &'static str, kind: ColumnKind) -> Self {
        Self { name, kind, is_optional: false }
    }

    /// A column in which a row may have nothing.
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
