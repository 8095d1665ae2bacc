//! Reads an exported ledger: one line of JSON for each entry.

use std::path::Path;

use folkmoot_api::privacy::EntryView;
use folkmoot_privacy::ledger::Entry;

use crate::{CliError, json_lines};

/// The largest size of a line in bytes. An entry has about 600.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// Calls `visit` with every entry of an export, in file order.
///
/// # Errors
/// If the file cannot be read, a line is not an entry, or `visit` fails. The last two errors name the line.
pub fn for_each(path: &Path, mut visit: impl FnMut(Entry) -> Result<(), CliError>) -> Result<(), CliError> {
    json_lines::read(path, LINE_BYTES_MAX, |line| parse(line).and_then(&mut visit))
}

fn parse(line: &[u8]) -> Result<Entry, CliError> {
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::with_remedy(
            format!("not a ledger entry: {error}"),
            "give a complete file that `folkmoot privacy export` wrote",
        )
    };
    let view: EntryView = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    view.entry().map_err(|error| wrong(&error))
}
