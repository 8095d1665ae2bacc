//! Errors of joining a model with its other files.

use super::PROTOBUF_BYTES_MAX;
use crate::{FileError, ImportLimits};

/// Why the parts of a model could not be joined. The message says what the model's author should change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The model's own file could not be read, or a limit is exceeded.
    #[error(transparent)]
    File(#[from] FileError),
    /// The place of a tensor is not the name of a file in the model's folder.
    #[error(
        "tensor {tensor} is stored in {location:?}, which is not a plain file name. Data files must be in the folder of the \
         model, and their names must have no folder, drive or control character. Save the model again: \
         onnx.save(onnx.load(path), path)"
    )]
    Location {
        /// The tensor's name.
        tensor: String,
        /// The place that the file gives, shortened.
        location: String,
    },
    /// An entry about the place of a tensor is missing, doubled or not a number.
    #[error(
        "tensor {tensor} is stored in another file, but {fault}. Save the model again: onnx.save(onnx.load(path), path)"
    )]
    Entry {
        /// The tensor's name.
        tensor: String,
        /// The entry and its fault.
        fault: String,
    },
    /// The number of bytes in the other file does not match the tensor.
    #[error(
        "tensor {tensor} needs {expected} bytes for its dimensions and element type, but the model claims that its \
         data file has {found}. Export the model again"
    )]
    WrongLength {
        /// The tensor's name.
        tensor: String,
        /// The number of bytes that the dimensions and the element type need.
        expected: u64,
        /// The number of bytes that the file claims.
        found: u64,
    },
    /// The elements would end behind the end of their file.
    #[error(
        "{file} has {file_bytes} bytes, but tensor {tensor} ends at byte {end}. The file is incomplete, or belongs to another \
         model: copy the .onnx file and its data file together"
    )]
    FileTooShort {
        /// The tensor's name.
        tensor: String,
        /// The name of the file.
        file: String,
        /// The end of the tensor in the file.
        end: u64,
        /// The size of the file.
        file_bytes: u64,
    },
    /// The joined file would exceed the limit of protobuf.
    #[error(
        "the model has {bytes} bytes with its data files; one ONNX file can have at most {} (2 GiB, the limit of protobuf). \
         Folkmoot sends models as one file, so make the model smaller",
        PROTOBUF_BYTES_MAX
    )]
    TooLargeForProtobuf {
        /// The size of the joined file.
        bytes: u64,
    },
}

/// Checks the size of a joined file against the limit. `bytes` may be a lower bound of the size.
pub(super) fn check_size(bytes: u64, limits: &ImportLimits) -> Result<(), ExternalError> {
    if bytes > PROTOBUF_BYTES_MAX as u64 {
        return Err(ExternalError::TooLargeForProtobuf { bytes });
    }
    let (bytes, limit) = (bytes as usize, limits.model_bytes_max);
    if bytes > limit { Err(FileError::ModelTooLarge { bytes, limit }.into()) } else { Ok(()) }
}
