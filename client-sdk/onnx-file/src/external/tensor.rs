//! Reads the place of an external tensor's elements.

use std::ops::Range;

use prost::Message;

use super::{ExternalError, ExternalTensor};
use crate::limits::RANK_MAX;
use crate::proto::{EXTERNAL, data_type};
use crate::tensor::{checked_volume, converted};
use crate::wire::{fields, push_varint};
use crate::{FileError, ImportLimits};

const DIMS: u64 = 1;
/// `float_data`, `int32_data`, `string_data`, `int64_data`, `raw_data`, `double_data` and `uint64_data`.
const DATA: [u64; 7] = [4, 5, 6, 7, 9, 10, 11];
const RAW_DATA: u64 = 9;
/// The tag of `raw_data`, which has a length.
const RAW_DATA_TAG: u8 = (RAW_DATA << 3 | 2) as u8;
const EXTERNAL_DATA: u64 = 13;
const DATA_LOCATION: u64 = 14;

/// The maximum number of entries about the place of one tensor. ONNX defines four.
const ENTRIES_MAX: usize = 16;
/// The maximum number of bytes in all dimensions of a tensor: ten for each, and a tag with a length.
const DIMS_BYTES_MAX: usize = RANK_MAX * 10;
/// The maximum number of bytes in a file's name, as in most file systems.
const FILE_NAME_BYTES_MAX: usize = 255;
/// The number of characters of a wrong value that an error shows.
const SHOWN_CHARACTERS: usize = 100;

/// An external tensor, and the changes that bring its elements into the model's file.
pub(super) struct Found {
    pub(super) tensor: ExternalTensor,
    /// The position for the field `raw_data`. It is in front of everything that is removed.
    pub(super) raw_data_at: usize,
    /// The fields that say where the elements were.
    pub(super) removed: Vec<Range<usize>>,
}

/// The fields of `TensorProto` that are read.
#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(int64, repeated, tag = "1")]
    dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    data_type: i32,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(message, repeated, tag = "13")]
    external_data: Vec<Entry>,
    #[prost(int32, tag = "14")]
    data_location: i32,
}

/// `StringStringEntryProto`.
#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// Reads a tensor. Returns `None` if it is not external.
pub(super) fn read(
    bytes: &[u8],
    content: Range<usize>,
    limits: &ImportLimits,
) -> Result<Option<Found>, ExternalError> {
    let layout = Layout::of(bytes, content.clone())?;
    let Some(raw_data_at) = layout.raw_data_at.filter(|_| layout.has_location) else { return Ok(None) };
    layout.check()?;
    let malformed =
        |error: prost::DecodeError| FileError::Malformed { reason: format!("an external tensor: {error}") };
    let head = Head::decode(&bytes[content]).map_err(malformed)?;
    if head.data_location != EXTERNAL {
        return Ok(None);
    }
    if layout.has_data {
        return Err(fault(&head, "the model's own file also has elements for it"));
    }
    let tensor = located(&head, limits)?;
    Ok(Some(Found { tensor, raw_data_at, removed: layout.removed }))
}

/// Returns the tag and the length of `raw_data`.
pub(super) fn raw_data_head(bytes: u64) -> Vec<u8> {
    let mut head = vec![RAW_DATA_TAG];
    push_varint(&mut head, bytes);
    head
}

/// The positions of a tensor's fields. Reading them allocates nothing that the sender can make large.
#[derive(Default)]
struct Layout {
    /// The start of the first field behind `raw_data` in the order of field numbers.
    raw_data_at: Option<usize>,
    has_location: bool,
    has_data: bool,
    dims_bytes: usize,
    entries: usize,
    /// Adjacent fields are one range.
    removed: Vec<Range<usize>>,
}

impl Layout {
    fn of(bytes: &[u8], content: Range<usize>) -> Result<Self, FileError> {
        let mut layout = Self::default();
        let mut start = content.start;
        for field in fields(bytes, content) {
            let field = field?;
            let whole = start..field.content.end;
            start = whole.end;
            if field.number > RAW_DATA {
                layout.raw_data_at.get_or_insert(whole.start);
            }
            match field.number {
                DIMS => layout.dims_bytes += field.content.len(),
                EXTERNAL_DATA => layout.entries += 1,
                DATA_LOCATION => layout.has_location = true,
                number if DATA.contains(&number) => layout.has_data |= !field.content.is_empty(),
                _ => {}
            }
            if matches!(field.number, EXTERNAL_DATA | DATA_LOCATION) {
                layout.remove(whole);
            }
        }
        Ok(layout)
    }

    fn remove(&mut self, field: Range<usize>) {
        match self.removed.last_mut() {
            Some(last) if last.end == field.start => last.end = field.end,
            _ => self.removed.push(field),
        }
    }

    /// Checks everything that takes memory when it is decoded, and the number of changes.
    fn check(&self) -> Result<(), FileError> {
        let too_many = |what, count, limit| FileError::TooMany { what, count, limit };
        if self.dims_bytes > DIMS_BYTES_MAX {
            return Err(too_many("bytes of dimensions in one tensor", self.dims_bytes, DIMS_BYTES_MAX));
        }
        if self.entries > ENTRIES_MAX {
            return Err(too_many("external_data entries in one tensor", self.entries, ENTRIES_MAX));
        }
        if self.removed.len() > ENTRIES_MAX {
            return Err(too_many("parts of external_data in one tensor", self.removed.len(), ENTRIES_MAX));
        }
        Ok(())
    }
}

/// Returns the place of the elements, after checks that need no file.
fn located(head: &Head, limits: &ImportLimits) -> Result<ExternalTensor, ExternalError> {
    let file = value(head, "location")?.ok_or_else(|| fault(head, "the entry `location` is missing"))?;
    if !is_plain_file_name(file) {
        return Err(ExternalError::Location { tensor: head.name.clone(), location: shown(file) });
    }
    let expected = needed_bytes(head, limits)?;
    let found = number(head, "length")?.unwrap_or(expected);
    if found != expected {
        return Err(ExternalError::WrongLength { tensor: head.name.clone(), expected, found });
    }
    let offset = number(head, "offset")?.unwrap_or(0);
    let end = offset.checked_add(expected).ok_or_else(|| fault(head, "`offset` is too large for a file"))?;
    Ok(ExternalTensor { name: head.name.clone(), file: file.to_owned(), range: offset..end })
}

/// Returns whether this is the name of a file in the model's folder on every system.
fn is_plain_file_name(name: &str) -> bool {
    let is_plain = |letter: char| !matches!(letter, '/' | '\\' | ':') && !letter.is_control();
    !matches!(name, "" | "." | "..") && name.len() <= FILE_NAME_BYTES_MAX && name.chars().all(is_plain)
}

/// Returns the number of bytes that the dimensions and the element type need.
fn needed_bytes(head: &Head, limits: &ImportLimits) -> Result<u64, FileError> {
    let Some(element_bytes) = element_bytes(head.data_type) else {
        return Err(FileError::UnsupportedElementType {
            tensor: head.name.clone(),
            element_type: head.data_type,
        });
    };
    let dims = converted(&head.name, &head.dims, 0)?;
    let elements = checked_volume(&head.name, &dims, limits)?;
    (elements as u64).checked_mul(element_bytes).ok_or_else(|| FileError::TensorTooLarge {
        tensor: head.name.clone(),
        limit: limits.tensor_elements_max,
    })
}

/// Returns the size of an element, if the importer reads its type.
fn element_bytes(element_type: i32) -> Option<u64> {
    match element_type {
        data_type::UINT8 | data_type::INT8 | data_type::BOOL => Some(1),
        data_type::UINT16 | data_type::INT16 | data_type::FLOAT16 | data_type::BFLOAT16 => Some(2),
        data_type::FLOAT | data_type::INT32 | data_type::UINT32 => Some(4),
        data_type::DOUBLE | data_type::INT64 | data_type::UINT64 => Some(8),
        _ => None,
    }
}

fn number(head: &Head, key: &str) -> Result<Option<u64>, ExternalError> {
    let Some(value) = value(head, key)? else { return Ok(None) };
    let wrong = || fault(head, &format!("`{key}` is {:?}, which is not a number of bytes", shown(value)));
    value.parse().map(Some).map_err(|_| wrong())
}

/// Returns the value of an entry, which may be there only once.
fn value<'a>(head: &'a Head, key: &str) -> Result<Option<&'a str>, ExternalError> {
    let mut values = head.external_data.iter().filter(|entry| entry.key == key);
    let value = values.next().map(|entry| entry.value.as_str());
    if values.next().is_some() {
        return Err(fault(head, &format!("the entry `{key}` occurs twice")));
    }
    Ok(value)
}

fn fault(head: &Head, fault: &str) -> ExternalError {
    ExternalError::Entry { tensor: head.name.clone(), fault: fault.to_owned() }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::ElementType;

    #[test]
    fn every_type_that_the_importer_reads_has_a_size() {
        for element_type in 0..64 {
            assert_eq!(element_bytes(element_type).is_some(), ElementType::of(element_type).is_some());
        }
    }

    #[test]
    fn only_plain_file_names_are_accepted() {
        for name in ["model.onnx.data", "weights", "a b", "…", ".hidden", "...", "a..b"] {
            assert!(is_plain_file_name(name), "{name}");
        }
        let long = "a".repeat(256);
        let absolute = ["/etc/passwd", "\\\\server\\share", "C:\\weights", "C:weights", "file:///weights"];
        let climbing = ["..", "../weights", "a/../b", "..\\weights", "./weights", "a/b", "a\\b", "weights/"];
        let others = ["", ".", "a\0b", "a\nb", "*/_ORT_MEM_ADDR_/*", "weights::$DATA", &long];
        for name in absolute.into_iter().chain(climbing).chain(others) {
            assert!(!is_plain_file_name(name), "{name}");
        }
    }
}
