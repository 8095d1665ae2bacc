use std::path::Path;

use folkmoot_client::read_model_file as read;

use crate::FolkmootError;

/// Reads an ONNX model from disk. Weights that are stored in data files beside it become part of the result.
///
/// Only Python's administrative client uploads models, so other languages have no use for this function.
///
/// # Errors
/// `BadOption` if a file is missing, cannot be read, or does not belong to the model.
#[uniffi::export]
pub fn read_model_file(path: String) -> Result<Vec<u8>, FolkmootError> {
    read(Path::new(&path)).map(|file| file.onnx).map_err(FolkmootError::bad_option)
}
