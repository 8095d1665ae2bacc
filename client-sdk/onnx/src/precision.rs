//! Converts models with weights of half or double precision to single precision.
//!
//! Training needs float32 weights. If an initializer that may be a weight is float16, bfloat16 or float64, every tensor
//! and every declared type of the file that is one of these becomes float32. Half precision converts exactly; double
//! precision rounds to the nearest number. So an exported model is float32 throughout, and its types still fit together.
//! Everything else in the file keeps its bytes.

use std::ops::Range;

use prost::Message;
use prost::bytes::Bytes;

use super::locate::initializer_chunks;
use super::operators::names_of_settings;
use super::proto::{GraphProto, TensorProto, data_type};
use super::tensor;
use super::wire::{Encoding, Field, fields};
use super::{FileError, ImportError, ImportLimits};

/// The maximum number of levels of nested messages, as in other protobuf decoders.
const DEPTH_MAX: usize = 100;
/// The attributes that name an element type.
const TYPE_ATTRIBUTES: [&[u8]; 4] = [b"to", b"dtype", b"output_dtype", b"softmax_precision"];

/// Returns the file in single precision, or `None` if its weights already are.
///
/// # Errors
/// Returns an [`ImportError`] if the bytes are malformed, or the converted file exceeds the limit on its size.
pub(super) fn single(bytes: &Bytes, limits: &ImportLimits) -> Result<Option<Vec<u8>>, ImportError> {
    // Counts everything before decoding it.
    initializer_chunks(bytes, limits)?;
    if !has_other_weights(bytes)? {
        return Ok(None);
    }
    let mut copy = Vec::with_capacity(bytes.len());
    Converter { bytes, limits }.message(Kind::Model, 0..bytes.len(), 0, &mut copy)?;
    let limit = limits.model_bytes_max;
    if copy.len() > limit {
        return Err(ImportError::File(FileError::ModelTooLarge { bytes: copy.len(), limit }));
    }
    Ok(Some(copy))
}

/// Returns whether an initializer of several elements that nodes compute with has a precision other than float32.
fn has_other_weights(bytes: &Bytes) -> Result<bool, ImportError> {
    for field in fields(bytes, 0..bytes.len()) {
        let field = field?;
        if field.number != 7 || field.encoding != Encoding::Length {
            continue;
        }
        let graph = GraphProto::decode(bytes.slice(field.content)).map_err(malformed)?;
        let settings = names_of_settings(&graph.node);
        let is_other = |tensor: &TensorProto| {
            let has_several = tensor.dims.iter().any(|size| *size > 1);
            is_converted(tensor.data_type as u64) && has_several && !settings.contains(tensor.name.as_str())
        };
        if graph.initializer.iter().any(is_other) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn malformed(error: prost::DecodeError) -> ImportError {
    ImportError::File(FileError::Malformed { reason: error.to_string() })
}

fn is_converted(element_type: u64) -> bool {
    [data_type::FLOAT16, data_type::BFLOAT16, data_type::DOUBLE]
        .iter()
        .any(|other| *other as u64 == element_type)
}

/// The messages that hold element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    ValueInfo,
    Type,
    TensorType,
    Tensor,
}

impl Kind {
    /// Returns the kind of the message in a field.
    fn child(self, number: u64) -> Option<Self> {
        Some(match (self, number) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) | (Self::Function, 7) => Self::Node,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::ValueInfo,
            (Self::Node, 5) | (Self::Function, 11) => Self::Attribute,
            (Self::ValueInfo, 2) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            _ => return None,
        })
    }

    /// Returns whether a field is the number of an element type. An attribute's integer is one only for some names.
    fn is_element_type(self, number: u64) -> bool {
        matches!((self, number), (Self::TensorType, 1) | (Self::Attribute, 3))
    }
}

struct Converter<'a> {
    bytes: &'a Bytes,
    limits: &'a ImportLimits,
}

impl Converter<'_> {
    /// Appends a converted message.
    fn message(
        &self,
        kind: Kind,
        range: Range<usize>,
        depth: usize,
        to: &mut Vec<u8>,
    ) -> Result<(), ImportError> {
        if depth > DEPTH_MAX {
            let reason = format!("messages are more than {DEPTH_MAX} deep");
            return Err(ImportError::File(FileError::Malformed { reason }));
        }
        if kind == Kind::Tensor {
            return self.tensor(range, to);
        }
        let names_type = kind != Kind::Attribute || self.names_type(range.clone())?;
        let mut start = range.start;
        for field in fields(self.bytes, range) {
            let field = field?;
            let whole = start..field.content.end;
            start = whole.end;
            match kind.child(field.number) {
                Some(child) if field.encoding == Encoding::Length => {
                    let mut content = Vec::new();
                    self.message(child, field.content, depth + 1, &mut content)?;
                    append(field.number, &content, to);
                }
                _ if names_type && kind.is_element_type(field.number) && self.is_converted(&field) => {
                    to.extend([(field.number << 3) as u8, data_type::FLOAT as u8]);
                }
                _ => to.extend_from_slice(&self.bytes[whole]),
            }
        }
        Ok(())
    }

    fn names_type(&self, attribute: Range<usize>) -> Result<bool, ImportError> {
        for field in fields(self.bytes, attribute) {
            let field = field?;
            if field.number == 1 {
                return Ok(TYPE_ATTRIBUTES.contains(&&self.bytes[field.content]));
            }
        }
        Ok(false)
    }

    /// Returns whether a field is the number of a converted type, all of which fit into one byte.
    fn is_converted(&self, field: &Field) -> bool {
        field.encoding == Encoding::Varint
            && matches!(self.bytes[field.content.clone()], [number] if is_converted(number.into()))
    }

    /// Appends a tensor with float32 elements; its name and everything else stay.
    fn tensor(&self, range: Range<usize>, to: &mut Vec<u8>) -> Result<(), ImportError> {
        const DATA_TYPE: u64 = 2;
        const ELEMENTS: [u64; 3] = [5, 9, 10];
        let mut proto = TensorProto::decode(self.bytes.slice(range.clone())).map_err(malformed)?;
        if !is_converted(proto.data_type as u64) || proto.data_location == super::proto::EXTERNAL {
            to.extend_from_slice(&self.bytes[range]);
            return Ok(());
        }
        let elements = tensor::any_constant(&proto, self.limits)?.elements;
        let mut start = range.start;
        for field in fields(self.bytes, range) {
            let field = field?;
            let whole = start..field.content.end;
            start = whole.end;
            if field.number != DATA_TYPE && !ELEMENTS.contains(&field.number) {
                to.extend_from_slice(&self.bytes[whole]);
            }
        }
        proto = TensorProto { data_type: data_type::FLOAT, ..TensorProto::default() };
        proto.raw_data = elements.into_iter().flat_map(|element| (element as f32).to_le_bytes()).collect();
        // The fields of a message may come in any order.
        proto
            .encode(to)
            .map_err(|error| ImportError::File(FileError::Malformed { reason: error.to_string() }))
    }
}

/// Appends a field of a message or of bytes.
fn append(number: u64, content: &[u8], to: &mut Vec<u8>) {
    prost::encoding::encode_varint(number << 3 | 2, to);
    prost::encoding::encode_varint(content.len() as u64, to);
    to.extend_from_slice(content);
}
