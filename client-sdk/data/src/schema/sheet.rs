//! A table of text, line by line.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::{DataError, Fault, Limits, file};

/// The characters that may separate the fields of a line. The header decides which one does.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A file with a header line.
pub(super) struct Sheet {
    content: Vec<u8>,
    /// The character between two fields.
    pub delimiter: u8,
    /// The names of the columns.
    pub header: Vec<String>,
}

impl Sheet {
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, DataError> {
        let mut content = file::bytes(path, limits)?.to_vec();
        if content.starts_with("\u{feff}".as_bytes()) {
            content.drain(..3);
        }
        let delimiter = delimiter(&content);
        let mut sheet = Self { content, delimiter, header: Vec::new() };
        let mut header = StringRecord::new();
        let is_there = sheet.reader().read_record(&mut header).map_err(|error| unreadable(path, &error))?;
        if !is_there {
            let fault = Fault::new("is empty", "choose a table with a header line");
            return Err(DataError::invalid(path, fault));
        }
        sheet.header = header.iter().map(str::to_owned).collect();
        Ok(sheet)
    }

    /// Returns the position of the only column with this name.
    pub fn position(&self, name: &str) -> Result<usize, Fault> {
        let mut found = self.header.iter().enumerate().filter(|(_, column)| *column == name);
        let (position, _) = found.next().ok_or_else(|| {
            let columns = self.header.join(", ");
            Fault::new(format!("there is no column named {name}"), format!("the columns are {columns}"))
        })?;
        match found.next() {
            None => Ok(position),
            Some(_) => Err(Fault::new(format!("two columns are named {name}"), "rename one of them")),
        }
    }

    /// Calls `each` with the line number and the fields of every record after the header.
    pub fn for_each(
        &self,
        path: &Path,
        mut each: impl FnMut(u64, &StringRecord) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mut reader = self.reader();
        let mut record = StringRecord::new();
        let mut is_header = true;
        while reader.read_record(&mut record).map_err(|error| unreadable(path, &error))? {
            if std::mem::take(&mut is_header) {
                continue;
            }
            let line = record.position().map_or(0, csv::Position::line);
            let (found, expected) = (record.len(), self.header.len());
            if found != expected {
                let reason = format!("line {line} has {found} columns, but the header has {expected}");
                let fault = Fault::new(reason, "give every line the columns of the header");
                return Err(DataError::invalid(path, fault));
            }
            each(line, &record)?;
        }
        Ok(())
    }

    fn reader(&self) -> csv::Reader<&[u8]> {
        ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(&self.content)
    }
}

/// Returns the delimiter that occurs most often in the first line, outside quotes.
fn delimiter(content: &[u8]) -> u8 {
    let mut counts = [0u32; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in content {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            byte if !is_quoted => {
                if let Some(index) = DELIMITERS.iter().position(|delimiter| delimiter == byte) {
                    counts[index] += 1;
                }
            }
            _ => {}
        }
    }
    // Of equal counts, the first delimiter wins.
    let most = (0..DELIMITERS.len()).rev().max_by_key(|index| counts[*index]);
    most.map_or(b',', |index| DELIMITERS[index])
}

fn unreadable(path: &Path, error: &csv::Error) -> DataError {
    DataError::invalid(path, Fault::new(error.to_string(), "correct the line"))
}
