//! Errors of reading bytes.

/// Why the bytes of an ONNX file could not be read. The message says what the model's author should change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file is larger than the limit.
    #[error("the model has {bytes} bytes; the limit is {limit}. Use a smaller model, or raise the limit")]
    ModelTooLarge {
        /// The file's size.
        bytes: usize,
        /// [`crate::ImportLimits::model_bytes_max`].
        limit: usize,
    },
    /// The bytes are not an ONNX protobuf, or are truncated.
    #[error("not a valid ONNX file: {reason}")]
    Malformed {
        /// The fault and its position.
        reason: String,
    },
    /// The graph exceeds a limit on a count.
    #[error("the model has {count} {what}; the limit is {limit}")]
    TooMany {
        /// The counted items, for example "nodes".
        what: &'static str,
        /// The number of items.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A tensor's elements are stored in another file. [`crate::external`] joins the files.
    #[error(
        "tensor {tensor} is stored in another file, which was not given. Give the path of the .onnx file, and its data \
         files are found beside it; in the console, choose all files together. Or save the model as one file: \
         torch.onnx.export(..., external_data=False), or onnx.save(onnx.load(path), path)"
    )]
    ExternalData {
        /// The tensor's name.
        tensor: String,
    },
    /// The engine does not support the element type of a tensor.
    #[error(
        "tensor {tensor} has ONNX element type {element_type}, which is not supported: weights must be \
         float (1); frozen tensors may also be integers, booleans or other floats"
    )]
    UnsupportedElementType {
        /// The tensor's name.
        tensor: String,
        /// The element type's number in `TensorProto.DataType`.
        element_type: i32,
    },
    /// A dimension is zero, negative or too large for this machine.
    #[error("tensor {tensor} has dimension {dimension}; a dimension must be 1 or more")]
    InvalidDimension {
        /// The tensor's name.
        tensor: String,
        /// The dimension.
        dimension: i64,
    },
    /// A tensor, or an intermediate result for a batch, has too many elements.
    #[error("{tensor} has more elements than the limit of {limit}")]
    TensorTooLarge {
        /// The tensor's name.
        tensor: String,
        /// [`crate::ImportLimits::tensor_elements_max`].
        limit: usize,
    },
    /// The number of a tensor's elements does not match its dimensions.
    #[error("the dimensions of tensor {tensor} need {expected} elements, but its data has {found}")]
    WrongLength {
        /// The tensor's name.
        tensor: String,
        /// The product of the dimensions.
        expected: usize,
        /// The number of elements found.
        found: usize,
    },
    /// A trainable tensor has a NaN or infinite element, or a frozen one has a NaN.
    #[error("tensor {tensor} has an element that is NaN or infinite; export the model with finite weights")]
    NotFinite {
        /// The tensor's name.
        tensor: String,
    },
}
