//! Reads the entries about weights in a file's metadata.

use std::ops::Range;

use folkmoot_protocol::NamePattern;

use crate::ImportError;
use crate::wire::{Encoding, fields};

const MODEL_METADATA: u64 = 14;
const ENTRY_KEY: u64 = 1;
const ENTRY_VALUE: u64 = 2;

/// The maximum number of bytes in an entry's value. It bounds the time that patterns take.
const VALUE_BYTES_MAX: usize = 1024;
/// The maximum number of bytes in a name that is compared with patterns. Longer names do not fit a schema.
const NAME_BYTES_MAX: usize = 256;

/// The entries of `metadata_props` whose names begin with `folkmoot.`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// `folkmoot.weights` is `explicit`: every float initializer that a node reads is a weight, and is shared by all of
    /// its readers.
    pub(crate) is_explicit: bool,
    /// `folkmoot.shared`: names of tensors that all readers share.
    shared: Vec<NamePattern>,
    /// `folkmoot.separate`: names of tensors of which each reader gets its own.
    separate: Vec<NamePattern>,
}

impl Metadata {
    /// Reads the entries of a model.
    ///
    /// # Errors
    /// Returns [`ImportError::File`] for malformed bytes, and [`ImportError::Metadata`] for an entry that does not
    /// have a known name and value.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ImportError> {
        let mut metadata = Self::default();
        for field in fields(bytes, 0..bytes.len()) {
            let field = field?;
            if field.number != MODEL_METADATA || field.encoding != Encoding::Length {
                continue;
            }
            let (key, value) = entry(bytes, field.content)?;
            if let Some(name) = key.strip_prefix(b"folkmoot.") {
                metadata.set(name, value)?;
            }
        }
        Ok(metadata)
    }

    fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), ImportError> {
        let refused = |reason: &str| ImportError::Metadata {
            entry: String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]).into_owned(),
            reason: reason.to_owned(),
        };
        // Clients and the commands read the schema; it says nothing about weights.
        if matches!(name, b"table_schema" | b"image_schema") {
            return Ok(());
        }
        if value.len() > VALUE_BYTES_MAX {
            return Err(refused("has more than 1024 bytes, which is the limit"));
        }
        let text = std::str::from_utf8(value).map_err(|_| refused("is not text"))?;
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        match name {
            b"weights" if text == "explicit" => self.is_explicit = true,
            b"weights" => return Err(refused("has a value other than `explicit`")),
            b"shared" => self.shared.extend(names.map(NamePattern::from)),
            b"separate" => self.separate.extend(names.map(NamePattern::from)),
            _ => {
                return Err(refused(
                    "is unknown; the entries are weights, shared, separate and table_schema",
                ));
            }
        }
        Ok(())
    }

    /// Returns whether all readers share the tensor with this name.
    pub(crate) fn is_shared(&self, name: &str) -> bool {
        self.is_explicit || matches(&self.shared, name)
    }

    /// Returns whether each reader has its own tensor in place of the one with this name.
    pub(crate) fn is_separate(&self, name: &str) -> bool {
        matches(&self.separate, name)
    }
}

fn matches(patterns: &[NamePattern], name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX && patterns.iter().any(|pattern| pattern.matches(name))
}

/// Returns the key and the value of an entry.
pub(crate) fn entry(bytes: &[u8], content: Range<usize>) -> Result<(&[u8], &[u8]), ImportError> {
    let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
    for field in fields(bytes, content) {
        let field = field?;
        match field.number {
            ENTRY_KEY if field.encoding == Encoding::Length => key = &bytes[field.content],
            ENTRY_VALUE if field.encoding == Encoding::Length => value = &bytes[field.content],
            _ => {}
        }
    }
    Ok((key, value))
}
