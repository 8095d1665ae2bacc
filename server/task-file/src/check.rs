//! Reads a task's file and lists everything that is wrong with it.

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

/// Bytes of a task's file, at most.
pub const TASK_FILE_BYTES_MAX: usize = 1 << 20;

/// Reads a description.
///
/// # Errors
/// [`TaskFileError`] lists every fault with its place in the file.
pub fn read(path: &Path, text: &str) -> Result<TaskDescription, TaskFileError> {
    read_with(path, text, |_| Vec::new())
}

/// Reads a description that has to satisfy more than itself: `also` lists what is wrong, for example against a model.
///
/// Where something cannot be read, the rest is looked at with several values in its place, and only what is wrong with
/// all of them is listed.
///
/// # Errors
/// [`TaskFileError`] lists every fault with its place in the file.
pub fn read_with(
    path: &Path,
    text: &str,
    also: impl Fn(&TaskDescription) -> Vec<Fault>,
) -> Result<TaskDescription, TaskFileError> {
    let refused = |complaints| Err(TaskFileError::new(path.display().to_string(), text, complaints));
    if text.len() > TASK_FILE_BYTES_MAX {
        let message = format!("it has {} bytes, and {TASK_FILE_BYTES_MAX} are allowed", text.len());
        let remedy = "is it a task's file? `folkmoot task new` writes one".into();
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
            Ok(read) => {
                let mut faults = read.validate();
                faults.extend(also(&read));
                common = Some(match common {
                    None => faults,
                    Some(known) => known.into_iter().filter(|fault| faults.contains(fault)).collect(),
                });
                description.get_or_insert(read);
            }
            Err(error) if complaints.is_empty() => {
                let remedy = "compare it with what `folkmoot task new` writes".into();
                let message = error.to_string();
                complaints.push(Complaint { span: 0..0, field: String::new(), message, remedy });
            }
            Err(_) => {}
        }
    }
    let said: BTreeSet<String> = complaints.iter().map(|one| one.field.clone()).collect();
    for fault in common.unwrap_or_default() {
        // What stands in a gap is not the file's fault.
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

/// Finds the place of a field, or of what is nearest around it, and says which of the two it is.
fn place(places: &BTreeMap<String, Range<usize>>, field: &str) -> (Range<usize>, bool) {
    let found = parents(field).find_map(|path| Some((places.get(path)?.clone(), path == field)));
    found.unwrap_or((0..0, false))
}

/// Lists a field's path and those of the tables around it: `a.b[0]`, `a.b`, `a`.
fn parents(field: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(field), |path| path.rfind(['.', '[']).map(|at| &path[..at]))
}

/// A text whose lines that are no TOML were taken out.
struct Mended {
    /// The text; such a line has spaces in its place.
    text: String,
    /// What is wrong with these lines.
    complaints: Vec<Complaint>,
    /// What may have stood there.
    lost: Lost,
    /// The offset up to which the text can be trusted.
    trusted: usize,
}

/// Takes out the lines that are no TOML, one after the other.
///
/// A line `key = value` can be spared. Without a line of another kind, such as a table's head, the rest would mean
/// something else: from there on nothing is looked at.
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
                // What was found behind it may be a consequence of it.
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

/// Finds where the text over several lines begins that has no end: its error is at the end of the file.
fn opening(text: &str, error: &toml::de::Error) -> Option<Range<usize>> {
    let before = text.get(..error.span()?.start)?;
    let quotes = if error.message().contains("multi-line literal") { "'''" } else { "\"\"\"" };
    let at = before.rfind(quotes).filter(|_| error.message().contains("multi-line"))?;
    Some(at..at + quotes.len())
}

/// Returns the last part of the key of a line `key = value`.
fn key_on(line: &str) -> Option<&str> {
    let (key, _) = line.split_once('=')?;
    let is_key = key.trim().chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
    let last = key.trim().rsplit('.').next()?;
    (is_key && !last.is_empty()).then_some(last)
}

/// Says what to write instead of a line that is no TOML.
fn remedy(line: &str, message: &str) -> String {
    let value = line.split_once('=').map(|(_, value)| value.trim());
    match value {
        _ if message.contains("multi-line") => "end the text with the three quotes that began it".into(),
        _ if message.starts_with("duplicate key") => "it is given twice; remove one".into(),
        Some("") => "give it a value, or remove the line".into(),
        Some(value) if value.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter)) => {
            format!("a text stands in quotes: \"{value}\"")
        }
        _ => "the file is TOML: key = value, [table], \"text\", [1, 2]; see https://toml.io".into(),
    }
}
