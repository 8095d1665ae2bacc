//! Reads a ledger head that was saved earlier.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use folkmoot_privacy::ledger::{EntryDigest, Head};
use serde::Deserialize;

use super::export_file;
use crate::CliError;

/// The maximum size of the output of `verify --json`, in bytes.
const KEPT_BYTES_MAX: u64 = 16 * 1024;

/// The parts of the output of `verify --json` that are needed here.
#[derive(Deserialize)]
struct Kept {
    entries: u64,
    digest: EntryDigest,
}

/// Reads a head: ENTRIES:DIGEST, a file with the output of `verify --json`, or an exported ledger.
///
/// # Errors
/// Fails if `text` has none of these forms, or if the named file cannot be read.
pub fn read(text: &str) -> Result<Head, CliError> {
    if let Some(head) = parse(text) {
        return Ok(head);
    }
    let path = Path::new(text);
    let wrong = || {
        CliError::with_remedy(
            format!("--head {text} is neither ENTRIES:DIGEST nor a file with a head or an export"),
            "give a head as printed by `folkmoot privacy verify`: a number, a colon and 64 hexadecimal digits",
        )
    };
    let file = File::open(path).map_err(|_| wrong())?;
    let mut first = Vec::new();
    BufReader::new(file).take(KEPT_BYTES_MAX).read_until(b'\n', &mut first).map_err(CliError::read(path))?;
    if let Ok(Kept { entries, digest }) = serde_json::from_slice(&first) {
        return Ok(Head { entries, digest });
    }
    let mut last = None;
    export_file::for_each(path, |entry| {
        last = Some(Head { entries: entry.sequence, digest: entry.digest });
        Ok(())
    })?;
    last.ok_or_else(wrong)
}

fn parse(text: &str) -> Option<Head> {
    let (entries, digest) = text.trim().split_once(':')?;
    Some(Head { entries: entries.parse().ok()?, digest: digest.parse().ok()? })
}

/// Formats a head as ENTRIES:DIGEST.
pub fn shown(head: &Head) -> String {
    format!("{}:{}", head.entries, head.digest)
}
