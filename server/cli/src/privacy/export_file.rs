//! An exported ledger: a line of JSON for each entry.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use folkmoot_api::privacy::EntryView;
use folkmoot_privacy::ledger::Entry;

use crate::CliError;

/// Bytes of a line, at most. An entry has some 600.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// Shows all entries of an export to `visit`, in the file's order.
///
/// # Errors
/// If the file cannot be read, a line is no entry, or `visit` refuses: all but the first name the line.
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
            format!("this is no entry of a ledger: {error}"),
            "give a file that `folkmoot privacy export` wrote, whole",
        )
    };
    let view: EntryView = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    view.entry().map_err(|error| wrong(&error))
}
