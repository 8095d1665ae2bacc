//! Joins a model whose tensors are stored in other files.
//!
//! ONNX may store the elements of a tensor outside of the model's file, and PyTorch's default exporter does. [`Parts`] finds
//! these tensors, and joins everything into one file. It changes nothing else: fields that this crate does not know are
//! copied, too. It does not verify the optional SHA-1 checksums of data files.

mod error;
mod find;
mod tensor;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

pub use error::ExternalError;
use find::{Edit, Finder, Written};

use crate::ImportLimits;
use crate::wire::push_varint;

/// The maximum number of bytes in a protobuf message, and so in an ONNX file.
pub const PROTOBUF_BYTES_MAX: usize = i32::MAX as usize;

/// A tensor whose elements are in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalTensor {
    /// The tensor's name; empty for most constants.
    pub name: String,
    /// The name of the file, without a folder.
    pub file: String,
    /// The position of the elements in the file. Its end fits into a `u64`, but may be behind the end of the file.
    pub range: Range<u64>,
}

impl ExternalTensor {
    /// Checks that the elements lie within a file of this size.
    ///
    /// # Errors
    /// Returns [`ExternalError::FileTooShort`] if they do not.
    pub fn check_in(&self, file_bytes: u64) -> Result<(), ExternalError> {
        if self.range.end <= file_bytes {
            return Ok(());
        }
        let Self { name, file, range } = self.clone();
        Err(ExternalError::FileTooShort { tensor: name, file, end: range.end, file_bytes })
    }
}

/// One piece of the joined file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes of the model's own file.
    Model(Range<usize>),
    /// New bytes: the length of a message, or what precedes the elements of a tensor.
    New(Vec<u8>),
    /// The elements of a tensor.
    Tensor(&'a ExternalTensor),
}

/// The parts of a model: its own file, and the tensors that are in other files.
#[derive(Debug)]
pub struct Parts<'a> {
    bytes: &'a [u8],
    tensors: Vec<ExternalTensor>,
    edits: Vec<Edit>,
    joined_bytes: usize,
}

impl<'a> Parts<'a> {
    /// Finds the tensors that are in other files, also in nested graphs, in functions and in attributes.
    ///
    /// # Errors
    /// Returns an [`ExternalError`] if the bytes are malformed, if a tensor's place is not the plain name of a file with a
    /// range that matches the tensor's dimensions, or if the joined file would exceed a limit.
    pub fn find(bytes: &'a [u8], limits: &ImportLimits) -> Result<Self, ExternalError> {
        let mut finder = Finder::new(bytes, limits);
        let growth = finder.find()?;
        let joined_bytes = bytes.len().saturating_add_signed(growth);
        let Finder { tensors, edits, .. } = finder;
        if !tensors.is_empty() {
            error::check_size(joined_bytes as u64, limits)?;
        }
        Ok(Self { bytes, tensors, edits, joined_bytes })
    }

    /// Returns the tensors that are in other files, in file order.
    pub fn tensors(&self) -> &[ExternalTensor] {
        &self.tensors
    }

    /// Returns the names of the other files.
    pub fn files(&self) -> BTreeSet<&str> {
        self.tensors.iter().map(|tensor| tensor.file.as_str()).collect()
    }

    /// Returns the size of the joined file.
    pub fn joined_bytes(&self) -> usize {
        self.joined_bytes
    }

    /// Returns the pieces of the joined file in order.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        let mut position = 0;
        for Edit { replaced, written } in &self.edits {
            if position < replaced.start {
                pieces.push(Piece::Model(position..replaced.start));
            }
            position = replaced.end;
            match written {
                Written::Nothing => {}
                Written::Length(length) => {
                    let mut bytes = Vec::new();
                    push_varint(&mut bytes, *length);
                    pieces.push(Piece::New(bytes));
                }
                Written::RawData(index) => {
                    let tensor = &self.tensors[*index];
                    pieces.push(Piece::New(tensor::raw_data_head(tensor.range.end - tensor.range.start)));
                    pieces.push(Piece::Tensor(tensor));
                }
            }
        }
        if position < self.bytes.len() {
            pieces.push(Piece::Model(position..self.bytes.len()));
        }
        pieces
    }

    /// Joins the parts into one ONNX file. `read` fills a buffer with the elements of a tensor.
    ///
    /// # Errors
    /// Returns the errors of `read`.
    pub fn joined<E>(
        &self,
        mut read: impl FnMut(&ExternalTensor, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut joined = Vec::with_capacity(self.joined_bytes);
        for piece in self.pieces() {
            match piece {
                Piece::Model(range) => joined.extend_from_slice(&self.bytes[range]),
                Piece::New(bytes) => joined.extend_from_slice(&bytes),
                Piece::Tensor(tensor) => {
                    let start = joined.len();
                    let bytes = (tensor.range.end - tensor.range.start) as usize;
                    joined.resize(start + bytes, 0);
                    read(tensor, &mut joined[start..])?;
                }
            }
        }
        Ok(joined)
    }
}
