//! The tensors stored in a file.

use super::locate::{element_count, elements};
use super::parameter::ParameterKind;
use super::proto::{FLOAT, TensorProto};
use super::tensor::{self, Constant};
use super::{Chunks, FileError, ImportError, ImportLimits};

/// A tensor stored in the file.
pub(super) struct Initializer {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) content: Content,
}

/// The elements of an initializer.
pub(super) enum Content {
    /// The elements of a tensor that is part of the weights: the chunks of the file that hold them, and into which
    /// weights are written. The kind is `Trained` or `Constant`.
    Trained(Chunks, ParameterKind),
    /// The decoded elements of a frozen tensor.
    Frozen(Constant),
}

/// Counts the elements of constants.
pub(super) struct FrozenCount {
    elements: usize,
    limit: usize,
}

impl FrozenCount {
    pub(super) fn new(limits: &ImportLimits) -> Self {
        Self { elements: 0, limit: limits.constant_elements_max }
    }

    /// Decodes an initializer that is not trained.
    pub(super) fn constant(
        &mut self,
        tensor: &TensorProto,
        limits: &ImportLimits,
    ) -> Result<Initializer, ImportError> {
        let constant = tensor::constant(tensor, limits)?;
        self.elements += constant.elements.len();
        if self.elements > self.limit {
            let what = "elements in frozen tensors";
            return Err(ImportError::File(FileError::TooMany {
                what,
                count: self.elements,
                limit: self.limit,
            }));
        }
        let (name, shape) = (tensor.name.clone(), constant.shape.clone());
        Ok(Initializer { name, shape, content: Content::Frozen(constant) })
    }
}

/// Checks a trainable tensor without copying it, and returns its shape.
pub(super) fn parameter_shape(
    initializer: &TensorProto,
    bytes: &[u8],
    chunks: &Chunks,
    limits: &ImportLimits,
) -> Result<Vec<usize>, ImportError> {
    let tensor = initializer.name.clone();
    if initializer.data_type != FLOAT {
        return Err(ImportError::File(FileError::UnsupportedElementType {
            tensor,
            element_type: initializer.data_type,
        }));
    }
    let (shape, expected) = tensor::dims(initializer, limits)?;
    let found = element_count(chunks);
    if found != expected {
        return Err(ImportError::File(FileError::WrongLength { tensor, expected, found }));
    }
    tensor::expect_finite(&initializer.name, elements(bytes, chunks))?;
    Ok(shape)
}
