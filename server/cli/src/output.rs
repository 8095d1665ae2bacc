//! The output of commands: text for humans, or JSON for programs.

use std::io::{self, Write};

use folkmoot_telemetry::printable;
pub use folkmoot_terminal::moment;
use serde::Serialize;

use super::CliError;

/// The output flags.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

impl OutputArgs {
    /// Prints a value as JSON, or as the text that `text` returns.
    ///
    /// # Errors
    /// If stdout cannot be written.
    pub fn print<T: Serialize + ?Sized>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        if self.json { json_line(&json(value)?) } else { line(&text(value)) }
    }
}

/// Returns a value as one line of JSON.
///
/// # Errors
/// If the value cannot be written as JSON.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, CliError> {
    serde_json::to_string(value)
        .map_err(|error| CliError::new(format!("the result cannot be written as JSON: {error}")))
}

/// Prints text and a line break. Control characters are escaped, because the text may contain untrusted data. A reader
/// that exits early, such as `head`, is not an error.
///
/// # Errors
/// If stdout cannot be written.
pub fn line(text: &str) -> Result<(), CliError> {
    write(&printable::lines(text.trim_end()))
}

/// Prints a line of JSON. Control characters are escaped so that the line stays valid JSON.
///
/// # Errors
/// If stdout cannot be written.
pub fn json_line(json: &str) -> Result<(), CliError> {
    write(&printable::json(json.trim_end()))
}

fn write(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::new(format!("stdout cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Formats rows as a table. Line breaks in cells are escaped.
pub fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let in_a_line = |row: [String; N]| row.map(|cell| printable::line(&cell).into_owned());
    let rows: Vec<[String; N]> =
        std::iter::once(head.map(str::to_owned)).chain(rows).map(in_a_line).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let show = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(show).collect::<Vec<_>>().join("\n")
}

/// Formats an optional value; `-` if there is none.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".into(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["ä".into(), "1".into()], ["longer".into(), "22".into()]];
        assert_eq!(table(["NAME", "N"], rows), "NAME    N\nä       1\nlonger  22");
    }

    #[test]
    fn what_came_from_outside_stays_in_its_cell() {
        let rows = [["\u{1b}[2Jdigits\nFORGED".into(), "1".into()]];
        assert_eq!(table(["NAME", "N"], rows), "NAME                     N\n\\u{1b}[2Jdigits\\nFORGED  1");
    }
}
