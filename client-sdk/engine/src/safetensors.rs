//! Model weights in the safetensors format.

use std::collections::BTreeSet;

use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView, serialize};

use folkmoot_onnx::ParameterSpec;

/// Why a safetensors file does not contain the model's weights.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The bytes are not a safetensors file.
    #[error("the bytes are not a valid safetensors file: {0}")]
    Damaged(String),
    /// A parameter has no tensor in the file.
    #[error("the file has no tensor `{tensor}`, which is a parameter of the model")]
    Missing {
        /// The parameter's name.
        tensor: String,
    },
    /// A tensor is not a parameter of the model.
    #[error("the model has no parameter `{tensor}`")]
    Unknown {
        /// The tensor's name.
        tensor: String,
    },
    /// A tensor's shape differs from the parameter's shape.
    #[error("tensor `{tensor}` has shape {found:?}, but the model's parameter has shape {expected:?}")]
    Shape {
        /// The tensor's name.
        tensor: String,
        /// The parameter's shape.
        expected: Vec<usize>,
        /// The tensor's shape.
        found: Vec<usize>,
    },
    /// A tensor's element type is not float32.
    #[error("tensor `{tensor}` has element type {found}; it must be float32 (F32)")]
    ElementType {
        /// The tensor's name.
        tensor: String,
        /// The tensor's element type.
        found: String,
    },
    /// An element is NaN or infinite.
    #[error("element {index} of tensor `{tensor}` is NaN or infinite; all weights must be finite")]
    NotFinite {
        /// The tensor's name.
        tensor: String,
        /// The element's position, row-major.
        index: usize,
    },
    /// The number of weights differs from the number of the model's parameters.
    #[error("the model has {expected} parameters, but {found} weights were given")]
    WrongLength {
        /// The model's number of parameters.
        expected: usize,
        /// The number of weights given.
        found: usize,
    },
}

/// Reads the tensors of these parameters and returns them flat, in parameter order.
///
/// # Errors
/// Returns a [`WeightsError`] that names the tensor.
pub(crate) fn read(parameters: &[ParameterSpec], bytes: &[u8]) -> Result<Vec<f32>, WeightsError> {
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let known: BTreeSet<&str> = parameters.iter().map(|spec| spec.name.as_str()).collect();
    let names: BTreeSet<&str> = tensors.names().into_iter().collect();
    if let Some(tensor) = names.difference(&known).next() {
        return Err(WeightsError::Unknown { tensor: (*tensor).to_owned() });
    }
    let mut weights = Vec::with_capacity(parameters.iter().map(ParameterSpec::element_count).sum());
    for spec in parameters {
        let missing = |_| WeightsError::Missing { tensor: spec.name.clone() };
        read_tensor(spec, &tensors.tensor(&spec.name).map_err(missing)?, &mut weights)?;
    }
    Ok(weights)
}

fn read_tensor(
    spec: &ParameterSpec,
    tensor: &TensorView<'_>,
    weights: &mut Vec<f32>,
) -> Result<(), WeightsError> {
    let name = || spec.name.clone();
    if tensor.shape() != spec.shape {
        let (expected, found) = (spec.shape.clone(), tensor.shape().to_vec());
        return Err(WeightsError::Shape { tensor: name(), expected, found });
    }
    if tensor.dtype() != Dtype::F32 {
        return Err(WeightsError::ElementType { tensor: name(), found: format!("{:?}", tensor.dtype()) });
    }
    let elements = tensor.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    for (index, element) in elements.enumerate() {
        if !element.is_finite() {
            return Err(WeightsError::NotFinite { tensor: name(), index });
        }
        weights.push(element);
    }
    Ok(())
}

/// Writes flat weights as one tensor for each parameter.
///
/// # Errors
/// Returns [`WeightsError::WrongLength`] if there are too few or too many weights.
pub(crate) fn write(parameters: &[ParameterSpec], weights: &[f32]) -> Result<Vec<u8>, WeightsError> {
    let expected = parameters.iter().map(ParameterSpec::element_count).sum();
    if weights.len() != expected {
        return Err(WeightsError::WrongLength { expected, found: weights.len() });
    }
    let bytes: Vec<u8> = weights.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    let mut rest = &bytes[..];
    let mut views = Vec::with_capacity(parameters.len());
    for spec in parameters {
        let (own, others) = rest.split_at(4 * spec.element_count());
        rest = others;
        let view = TensorView::new(Dtype::F32, spec.shape.clone(), own).map_err(damaged)?;
        views.push((spec.name.as_str(), view));
    }
    serialize(views, None).map_err(damaged)
}

fn damaged(error: SafeTensorError) -> WeightsError {
    WeightsError::Damaged(error.to_string())
}

#[cfg(test)]
mod tests {
    use folkmoot_onnx::ParameterKind;

    use super::*;

    fn parameters() -> Vec<ParameterSpec> {
        let spec = |name: &str, shape: &[usize]| ParameterSpec {
            name: name.into(),
            shape: shape.to_vec(),
            kind: ParameterKind::Trained,
        };
        vec![spec("z", &[2, 2]), spec("a", &[]), spec("m", &[3])]
    }

    #[test]
    fn weights_come_back_in_schema_order() {
        let weights: Vec<f32> = (0..8u8).map(f32::from).collect();
        let bytes = write(&parameters(), &weights).unwrap();
        assert_eq!(read(&parameters(), &bytes), Ok(weights));
        assert_eq!(write(&parameters(), &[1.0]), Err(WeightsError::WrongLength { expected: 8, found: 1 }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let bytes = write(&parameters(), &[0.0; 8]).unwrap();
        let mut other = parameters();
        other[2].shape = vec![1, 3];
        let expected = WeightsError::Shape { tensor: "m".into(), expected: vec![1, 3], found: vec![3] };
        assert_eq!(read(&other, &bytes), Err(expected));
        other[2].name = "n".into();
        assert_eq!(read(&other, &bytes), Err(WeightsError::Unknown { tensor: "m".into() }));
        let mut more = parameters();
        more.push(ParameterSpec { name: "q".into(), ..more[1].clone() });
        assert_eq!(read(&more, &bytes), Err(WeightsError::Missing { tensor: "q".into() }));
        let bytes = write(&parameters(), &[0.0, f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        let expected = WeightsError::NotFinite { tensor: "z".into(), index: 1 };
        assert_eq!(read(&parameters(), &bytes), Err(expected));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = write(&parameters(), &[0.0; 8]).unwrap();
        for length in 0..bytes.len() {
            assert!(
                matches!(read(&parameters(), &bytes[..length]), Err(WeightsError::Damaged(_))),
                "{length}"
            );
        }
    }
}
