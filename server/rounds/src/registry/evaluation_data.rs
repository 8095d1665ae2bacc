//! The operator's evaluation examples: a blob in safetensors format with the tensors `features` and `labels`.

use std::collections::HashMap;

use folkmoot_engine::{Examples, ExamplesError, Labels};
use safetensors::{Dtype, SafeTensorError, SafeTensors, serialize, tensor::TensorView};

/// The reason why evaluation examples cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationDataError {
    /// The file is not safetensors, or a tensor is missing.
    #[error("the examples are not a safetensors file with the tensors `features` and `labels`: {0}")]
    Format(#[from] SafeTensorError),
    /// A tensor has a wrong type or shape.
    #[error("{tensor} is {found}; it must be {expected}")]
    Tensor {
        /// The tensor's name.
        tensor: &'static str,
        /// The actual type and shape.
        found: String,
        /// The required type and shape.
        expected: &'static str,
    },
    /// The tensors do not match each other.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
}

/// Serialises examples as a safetensors file.
///
/// # Errors
/// Fails if the file cannot be produced.
pub fn write(examples: &Examples) -> Result<Vec<u8>, EvaluationDataError> {
    let count = examples.len();
    let features: Vec<u8> = examples.features().iter().flat_map(|value| value.to_le_bytes()).collect();
    let shape: Vec<usize> = [count].iter().chain(examples.feature_shape()).copied().collect();
    let (dtype, label_shape, labels): (_, _, Vec<u8>) = match examples.labels() {
        Labels::Classes(classes) => {
            (Dtype::U32, vec![count], classes.iter().flat_map(|class| class.to_le_bytes()).collect())
        }
        Labels::Sequences(classes, width) => {
            (Dtype::U32, vec![count, *width], classes.iter().flat_map(|class| class.to_le_bytes()).collect())
        }
        Labels::Targets(targets, width) => {
            (Dtype::F32, vec![count, *width], targets.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
    };
    let tensors = HashMap::from([
        ("features", TensorView::new(Dtype::F32, shape, &features)?),
        ("labels", TensorView::new(dtype, label_shape, &labels)?),
    ]);
    Ok(serialize(tensors, None)?)
}

/// Reads examples from the format that [`write()`] produces.
///
/// # Errors
/// Fails if the bytes are not a safetensors file with these tensors, or the tensors do not match each other.
pub fn read(bytes: &[u8]) -> Result<Examples, EvaluationDataError> {
    let file = SafeTensors::deserialize(bytes)?;
    let (features, labels) = (file.tensor("features")?, file.tensor("labels")?);
    let wrong = |tensor, view: &TensorView<'_>, expected| EvaluationDataError::Tensor {
        tensor,
        found: format!("{:?} {:?}", view.dtype(), view.shape()),
        expected,
    };
    let (Dtype::F32, [_, shape @ ..]) = (features.dtype(), features.shape()) else {
        return Err(wrong("features", &features, "float32 with a row for each example"));
    };
    let words = |view: &TensorView<'_>| -> Vec<u32> {
        view.data().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    };
    let floats = |view: &TensorView<'_>| words(view).into_iter().map(f32::from_bits).collect();
    let read_labels = match (labels.dtype(), labels.shape()) {
        (Dtype::U32, [_]) => Labels::Classes(words(&labels)),
        (Dtype::U32, [_, width]) => Labels::Sequences(words(&labels), *width),
        (Dtype::F32, [_, width]) => Labels::Targets(floats(&labels), *width),
        _ => {
            return Err(wrong(
                "labels",
                &labels,
                "u32 classes [n] or [n, width], or float32 targets [n, width]",
            ));
        }
    };
    Ok(Examples::new(floats(&features), shape.to_vec(), read_labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_come_back_as_they_were() {
        let features = vec![0.5, -1.0, 2.0, 3.5, 0.0, 1.0];
        for labels in [
            Labels::Classes(vec![1, 0]),
            Labels::Sequences(vec![1, 2, 3, 4], 2),
            Labels::Targets(vec![0.25, -0.5], 1),
        ] {
            let examples = Examples::new(features.clone(), vec![3], labels).unwrap();
            assert_eq!(read(&write(&examples).unwrap()).unwrap(), examples);
        }
        assert!(matches!(read(b"nothing"), Err(EvaluationDataError::Format(_))));
    }
}
