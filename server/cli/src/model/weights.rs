//! Weights in the safetensors format, which PyTorch, JAX and their libraries read and write.

use std::path::Path;

use folkmoot_engine::{ImportLimits, Model};

use crate::CliError;

/// Returns whether a file name asks for the safetensors format.
pub fn is_asked(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "safetensors")
}

/// Returns a safetensors file with the trained tensors of a model.
///
/// # Errors
/// If the model cannot be read.
pub fn of(onnx: &[u8]) -> Result<Vec<u8>, CliError> {
    let read = Model::from_onnx(onnx, &ImportLimits::default());
    let model = read.map_err(|error| CliError::new(error.to_string()))?;
    model.weights_to_safetensors(&model.initial_weights()).map_err(|error| CliError::new(error.to_string()))
}

/// Returns the ONNX file of a model with the weights of a safetensors file.
///
/// # Errors
/// If the file cannot be read, or its tensors differ from those that the model trains.
pub fn put(model: &Model, file: &Path) -> Result<Vec<u8>, CliError> {
    let bytes = std::fs::read(file).map_err(CliError::read(file))?;
    let weights = model.weights_from_safetensors(&bytes).map_err(|error| {
        let remedy =
            "the file needs exactly the tensors that the model trains; `folkmoot engine inspect` lists them";
        CliError::with_remedy(format!("{}: {error}", file.display()), remedy)
    })?;
    model.export_onnx(&weights).map_err(|error| CliError::new(error.to_string()))
}
