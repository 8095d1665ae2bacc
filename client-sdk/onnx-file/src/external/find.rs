//! Walks the messages of a model, and lists the changes that join it with its other files.

use std::ops::Range;

use super::{ExternalError, ExternalTensor, error::check_size, tensor};
use crate::ImportLimits;
use crate::locate::{GRAPHS_MAX, within};
use crate::wire::{Encoding, Field, fields, varint_bytes};

/// A change of the model's bytes.
#[derive(Debug)]
pub(super) struct Edit {
    /// The bytes that are left out.
    pub(super) replaced: Range<usize>,
    /// The bytes in their place.
    pub(super) written: Written,
}

#[derive(Debug)]
pub(super) enum Written {
    Nothing,
    /// The new length of a message.
    Length(u64),
    /// The field `raw_data` with the elements of the external tensor with this index.
    RawData(usize),
}

/// A message of `onnx.proto3` in which tensors can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Training,
    Function,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
}

impl Kind {
    /// Returns the kind of message in a field of this message, if it can contain tensors.
    fn of_field(self, number: u64) -> Option<Self> {
        match (self, number) {
            (Self::Model, 7) | (Self::Training, 1 | 2) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 20) => Some(Self::Training),
            (Self::Model, 25) => Some(Self::Function),
            (Self::Graph, 1) | (Self::Function, 7) => Some(Self::Node),
            (Self::Node, 5) | (Self::Function, 11) => Some(Self::Attribute),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => Some(Self::Tensor),
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Some(Self::Sparse),
            _ => None,
        }
    }
}

/// Collects external tensors and the changes for them, in file order.
pub(super) struct Finder<'a> {
    bytes: &'a [u8],
    limits: &'a ImportLimits,
    /// The number of bytes in all external tensors so far.
    data_bytes: u64,
    pub(super) tensors: Vec<ExternalTensor>,
    pub(super) edits: Vec<Edit>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(bytes: &'a [u8], limits: &'a ImportLimits) -> Self {
        Self { bytes, limits, data_bytes: 0, tensors: Vec::new(), edits: Vec::new() }
    }

    /// Walks the whole model. Returns the number of bytes by which it grows.
    pub(super) fn find(&mut self) -> Result<isize, ExternalError> {
        self.message(Kind::Model, 0..self.bytes.len(), 0)
    }

    /// Walks a message that is in `depth` graphs.
    fn message(&mut self, kind: Kind, content: Range<usize>, depth: usize) -> Result<isize, ExternalError> {
        let (mut growth, mut start) = (0, content.start);
        for field in fields(self.bytes, content) {
            let field = field?;
            let end = field.content.end;
            let inside = kind.of_field(field.number).filter(|_| field.encoding == Encoding::Length);
            if let Some(inside) = inside {
                growth += self.field((kind, inside), start, field, depth)?;
            }
            start = end;
        }
        Ok(growth)
    }

    /// Walks a field that begins at `start` with its tag. If its content changes, so does its length.
    fn field(
        &mut self,
        (around, kind): (Kind, Kind),
        start: usize,
        field: Field,
        depth: usize,
    ) -> Result<isize, ExternalError> {
        let before = self.edits.len();
        let length = tag_end(self.bytes, start)..field.content.start;
        let content_bytes = field.content.len();
        self.edits.push(Edit { replaced: length.clone(), written: Written::Nothing });
        let growth = match kind {
            Kind::Tensor => self.tensor(field.content, around == Kind::Sparse)?,
            Kind::Graph => {
                within("levels of nested graphs", depth, GRAPHS_MAX)?;
                self.message(kind, field.content, depth + 1)?
            }
            _ => self.message(kind, field.content, depth)?,
        };
        if self.edits.len() == before + 1 {
            self.edits.pop();
            return Ok(0);
        }
        let new = content_bytes.saturating_add_signed(growth) as u64;
        self.edits[before].written = Written::Length(new);
        Ok(growth + varint_bytes(new) as isize - length.len() as isize)
    }

    /// Lists the changes for a tensor, if it is external.
    fn tensor(&mut self, content: Range<usize>, is_sparse: bool) -> Result<isize, ExternalError> {
        let Some(found) = tensor::read(self.bytes, content, self.limits)? else { return Ok(0) };
        if is_sparse {
            let fault = "it is part of a sparse tensor, which is not supported".to_owned();
            return Err(ExternalError::Entry { tensor: found.tensor.name, fault });
        }
        within("tensors in other files", self.tensors.len() + 1, self.limits.initializers_max)?;
        let data_bytes = found.tensor.range.end - found.tensor.range.start;
        self.data_bytes = self.data_bytes.saturating_add(data_bytes);
        check_size(self.data_bytes, self.limits)?;
        let mut growth = tensor::raw_data_head(data_bytes).len() as isize + data_bytes as isize;
        let at = found.raw_data_at;
        self.edits.push(Edit { replaced: at..at, written: Written::RawData(self.tensors.len()) });
        for replaced in found.removed {
            growth -= replaced.len() as isize;
            self.edits.push(Edit { replaced, written: Written::Nothing });
        }
        self.tensors.push(found.tensor);
        Ok(growth)
    }
}

/// Returns the end of a tag that begins at `start`. The field was read, so the tag is whole.
fn tag_end(bytes: &[u8], start: usize) -> usize {
    let is_last = |byte: &u8| byte & 0x80 == 0;
    start + bytes[start..].iter().position(is_last).map_or(0, |last| last + 1)
}
