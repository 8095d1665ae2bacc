//! Reads a task file and lists all of its faults.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
};

use folkmoot_coordinator::task::{Fault, TaskDescription};
use toml::de::DeTable;

use super::{
    TaskFileError,
    complaint::Complaint,
    sample::VARIANTS,
    source::Source,
    walk::{Lost, Walk},
};

/// The maximum size of a task file in bytes.
pub const TASK_FILE_BYTES_MAX: usize = 1 << 20;

/// Parses and checks the text of a task file. `path` is used only in the error.
///
/// # Errors
/// [`TaskFileError`] lists every fault with its position in the file.
pub fn read(path: &Path, text: &str) -> Result<TaskDescription, TaskFileError> {
    read_with(path, text, |_| Vec::new())
}

/// Parses and checks the text of a task file, and applies an additional check first: `also` returns further faults, for
/// example a plan that does not fit the model. It may replace the name of a file by the file's content.
///
/// If a value cannot be read, the rest of the file is checked with several sample values in place of that value. Only
/// faults that occur with all samples are listed.
///
/// # Errors
/// [`TaskFileError`] lists every fault with its position in the file.
pub fn read_with(
    path: &Path,
    text: &str,
    also: impl Fn(&mut TaskDescription) -> Vec<Fault>,
) -> Result<TaskDescription, TaskFileError> {
    let refused = |complaints| Err(TaskFileError::new(path.display().to_string(), text, complaints));
    if text.len() > TASK_FILE_BYTES_MAX {
        let message = format!("the file has {} bytes; at most {TASK_FILE_BYTES_MAX} are allowed", text.len());
        let remedy = "check that this is a task file; `folkmoot task new` writes one".into();
        return refused(vec![Complaint { span: 0..0, field: String::new(), message, remedy }]);
    }
    let Mended { text: mended, mut complaints, lost, trusted } = mend(text);
    let (root, _) = DeTable::parse_recoverable(&mended);
    let (first, _) = Walk::run(root.get_ref(), 0, &lost);
    complaints.extend(first.complaints.iter().filter(|one| one.span.end <= trusted).cloned());
    let variants = if complaints.is_empty() { 1 } else { VARIANTS };
    let mut common: Option<Vec<Fault>> = None;
    let mut description = None;
    for variant in 0..variants {
        let (_, value) = Walk::run(root.get_ref(), variant, &lost);
        match serde_json::from_value::<TaskDescription>(value) {
            Ok(mut read) => {
                let further = also(&mut read);
                let mut faults = read.validate();
                faults.extend(further);
                common = Some(match common {
                    None => faults,
                    Some(known) => known.into_iter().filter(|fault| faults.contains(fault)).collect(),
                });
                description.get_or_insert(read);
            }
            Err(error) if complaints.is_empty() => {
                let remedy = "compare it with a file from `folkmoot task new`".into();
                let message = error.to_string();
                complaints.push(Complaint { span: 0..0, field: String::new(), message, remedy });
            }
            Err(_) => {}
        }
    }
    let said: BTreeSet<String> = complaints.iter().map(|one| one.field.clone()).collect();
    for fault in common.unwrap_or_default() {
        // Faults inside a sample value are not faults of the file.
        if parents(&fault.field).any(|path| said.contains(path)) {
            continue;
        }
        let (span, is_exact) = place(&first.places, &fault.field);
        if trusted == usize::MAX || is_exact && span.end <= trusted {
            let Fault { field, message, remedy } = fault;
            complaints.push(Complaint { span, field, message, remedy });
        }
    }
    match description {
        Some(description) if complaints.is_empty() => Ok(description),
        _ => refused(complaints),
    }
}

/// Finds the position of a field. If the field is not in the file, finds the position of the innermost table around it.
/// The flag is true for the field's own position.
fn place(places: &BTreeMap<String, Range<usize>>, field: &str) -> (Range<usize>, bool) {
    let found = parents(field).find_map(|path| Some((places.get(path)?.clone(), path == field)));
    found.unwrap_or((0..0, false))
}

/// Lists the path of a field and of the tables around it: `a.b[0]`, `a.b`, `a`.
fn parents(field: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(field), |path| path.rfind(['.', '[']).map(|at| &path[..at]))
}

/// A text without its lines that are not valid TOML.
struct Mended {
    /// The text, with each invalid line replaced by spaces.
    text: String,
    /// The faults in the replaced lines.
    complaints: Vec<Complaint>,
    /// The keys that the replaced lines may have set.
    lost: Lost,
    /// The byte offset up to which faults are reliable.
    trusted: usize,
}

/// Removes the lines that are not valid TOML, one after the other.
///
/// A line `key = value` can be removed safely. Any other line, such as a table header, changes the meaning of the
/// lines after it, so checking stops there.
fn mend(text: &str) -> Mended {
    let source = Source::new(text);
    let mut mended =
        Mended { text: text.to_owned(), complaints: Vec::new(), lost: Lost::default(), trusted: usize::MAX };
    let mut seen = BTreeSet::new();
    loop {
        let errors = DeTable::parse_recoverable(&mended.text).1;
        let Some(error) = errors.iter().min_by_key(|error| error.span().map_or(0, |span| span.start)) else {
            return mended;
        };
        let span = opening(text, error).unwrap_or_else(|| error.span().unwrap_or(0..0));
        let (number, _) = source.place(span.start);
        let line = source.line(number);
        let complaint = Complaint {
            span: span.clone(),
            field: String::new(),
            message: error.message().lines().next().unwrap_or_default().to_owned(),
            remedy: remedy(line, error.message()),
        };
        let is_new = seen.insert(number);
        let is_one_line = opening(text, error).is_none();
        match key_on(line).filter(|_| is_new && is_one_line) {
            Some(key) => {
                let start = source.start(number);
                mended.text.replace_range(start..start + line.len(), &" ".repeat(line.len()));
                mended.lost.keys.insert(key.to_owned());
                mended.complaints.push(complaint);
            }
            None => {
                // Faults after this line may be consequences of the invalid line.
                mended.complaints.retain(|one| one.span.start < span.start);
                let first = mended.complaints.iter().map(|one| one.span.start).min();
                mended.trusted = first.unwrap_or(span.start).min(span.start);
                mended.lost.is_all = true;
                if is_new || mended.complaints.is_empty() {
                    mended.complaints.push(complaint);
                }
                return mended;
            }
        }
    }
}

/// Finds the opening quotes of an unterminated multi-line string. The parser reports its error at the end of the
/// file.
fn opening(text: &str, error: &toml::de::Error) -> Option<Range<usize>> {
    let before = text.get(..error.span()?.start)?;
    let quotes = if error.message().contains("multi-line literal") { "'''" } else { "\"\"\"" };
    let at = before.rfind(quotes).filter(|_| error.message().contains("multi-line"))?;
    Some(at..at + quotes.len())
}

/// Returns the last part of the key in a line `key = value`.
fn key_on(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let is_key = key.trim().chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
    let last = key.trim().rsplit('.').next()?;
    (is_key && !last.is_empty()).then_some(last)
}

/// Returns the remedy for a line that is not valid TOML.
fn remedy(line: &str, message: &str) -> String {
    let value = line.split_once('=').map(|(_, value)| value.trim());
    match value {
        _ if message.contains("multi-line") => "close the multi-line string with three quotes".into(),
        _ if message.starts_with("duplicate key") => "the key is set twice; remove one of the lines".into(),
        Some("") => "give the key a value, or remove the line".into(),
        Some(value) if value.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter)) => {
            format!("put the string in quotes: \"{value}\"")
        }
        _ => "write valid TOML: key = value, [table], \"text\", [1, 2]; see https://toml.io".into(),
    }
}
