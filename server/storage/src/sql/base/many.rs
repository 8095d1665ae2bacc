//! Helpers for statements that insert or select many rows.

use std::fmt::Write as _;

/// The maximum number of rows in one statement. It keeps statements below SQLite's limit of 32,766 placeholders.
pub(in crate::sql) const ROWS_MAX: usize = 500;

/// Returns the placeholders of several rows: `($1, $2), ($3, $4)`.
pub(in crate::sql) fn placeholder_rows(rows: usize, columns: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        let separator = if row == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}({})", placeholders(row * columns + 1, columns));
    }
    text
}

/// Returns `count` placeholders, numbered from `first`: `$3, $4`.
pub(in crate::sql) fn placeholders(first: usize, count: usize) -> String {
    let mut text = String::new();
    for number in first..first + count {
        let separator = if number == first { "" } else { ", " };
        let _ = write!(text, "{separator}${number}");
    }
    text
}

#[cfg(test)]
#[path = "../../../tests/unit/many.rs"]
mod tests;
