//! Reads an exported ledger: one line of JSON for each entry.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use folkmoot_api::privacy::EntryView;
use folkmoot_privacy::ledger::Entry;

use crate::CliError;

/// The largest size of a line in bytes. An entry has about 600.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// Calls `visit` with every entry of an export, in file order.
///
/// # Errors
/// If the file cannot be read, a line is not an entry, or `visit` fails. The last two errors name the line.
pub fn for_each(path: &Path, mut visit: impl FnMut(Entry) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut reader = BufReader::new(File::open(path).map_err(CliError::read(path))?);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let bytes = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if bytes.map_err(CliError::read(path))? == 0 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let place = |error: CliError| CliError {
            message: format!("{} line {number}: {}", path.display(), error.message),
            ..error
        };
        parse(&line).and_then(&mut visit).map_err(place)?;
    }
    Ok(())
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
