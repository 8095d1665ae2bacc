//! Examples and weights in the form that an executor takes, and the check that they fit the model.

use candle_core::Tensor;

use crate::cpu::{ExecuteError, Feeds, tensor};
use crate::examples::{Examples, Labels};
use crate::model::{Model, ParameterSpec};
use crate::train::Loss;

/// Why examples or weights do not go with a model and a loss.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The number of weights is not that of the model's parameters.
    #[error("the model has {expected} parameters, {found} weights were given")]
    WeightCount {
        /// [`Model::parameter_count`].
        expected: usize,
        /// The weights given.
        found: usize,
    },
    /// A weight is NaN or infinite.
    #[error("weight {index} is NaN or infinite")]
    WeightNotFinite {
        /// Its position in schema order.
        index: usize,
    },
    /// The examples' features are not of the shape that the model reads.
    #[error("the model reads features of shape {expected:?} (or the same number in one row), not {found:?}")]
    FeatureShape {
        /// [`Model::input_shape`].
        expected: Vec<usize>,
        /// [`Examples::feature_shape`].
        found: Vec<usize>,
    },
    /// The loss needs the other kind of labels.
    #[error("softmax cross-entropy needs class numbers, mean squared error needs targets")]
    LabelKind,
    /// The model's output or the targets do not have the shape that the loss compares.
    #[error("the model's output has shape {output:?}, which does not fit {labels}")]
    OutputShape {
        /// [`Model::output_shape`].
        output: Vec<usize>,
        /// What the labels look like.
        labels: String,
    },
    /// A class number is too large.
    #[error("example {row} has class {class}; the model tells classes 0 to {class_max} apart")]
    ClassOutOfRange {
        /// The example, counted from 0.
        row: usize,
        /// Its class number.
        class: u32,
        /// The largest class number.
        class_max: usize,
    },
}

/// Checks that examples go with the shapes of a model and with a loss.
///
/// Features in one row are accepted for any input shape with as many elements, because files are often flat.
///
/// # Errors
/// Returns a [`FitError`] that says what does not go.
pub(crate) fn check_examples(
    input_shape: &[usize],
    output_shape: &[usize],
    examples: &Examples,
    loss: Loss,
) -> Result<(), FitError> {
    let (expected, found) = (input_shape, examples.feature_shape());
    let is_flat = *found == [expected.iter().product::<usize>()];
    if expected != found && !is_flat {
        return Err(FitError::FeatureShape { expected: expected.to_vec(), found: found.to_vec() });
    }
    match (loss, examples.labels()) {
        (Loss::SoftmaxCrossEntropy, Labels::Classes(classes)) => check_classes(output_shape, classes),
        (Loss::MeanSquaredError, Labels::Targets(_, width)) => {
            if output_shape.iter().product::<usize>() == *width {
                return Ok(());
            }
            let labels = format!("{width} targets for each example");
            Err(FitError::OutputShape { output: output_shape.to_vec(), labels })
        }
        _ => Err(FitError::LabelKind),
    }
}

fn check_classes(output_shape: &[usize], classes: &[u32]) -> Result<(), FitError> {
    let [class_count] = *output_shape else {
        let labels = "one class number for each example".to_owned();
        return Err(FitError::OutputShape { output: output_shape.to_vec(), labels });
    };
    match classes.iter().position(|class| *class as usize >= class_count) {
        Some(row) => Err(FitError::ClassOutOfRange { row, class: classes[row], class_max: class_count - 1 }),
        None => Ok(()),
    }
}

/// Checks that there is a finite weight for each parameter.
///
/// # Errors
/// Returns [`FitError::WeightCount`] or [`FitError::WeightNotFinite`].
pub(crate) fn check_weights(model: &Model, weights: &[f32]) -> Result<(), FitError> {
    let expected = model.parameter_count();
    if weights.len() != expected {
        return Err(FitError::WeightCount { expected, found: weights.len() });
    }
    match weights.iter().position(|weight| !weight.is_finite()) {
        Some(index) => Err(FitError::WeightNotFinite { index }),
        None => Ok(()),
    }
}

/// Copies flat weights, of which there are enough, into one tensor for each parameter.
///
/// # Errors
/// Returns an [`ExecuteError`] if memory is short.
pub(crate) fn parameter_tensors(
    specs: &[ParameterSpec],
    weights: &[f32],
) -> Result<Vec<Tensor>, ExecuteError> {
    let mut rest = weights;
    let mut tensors = Vec::with_capacity(specs.len());
    for spec in specs {
        let (elements, others) = rest.split_at(spec.element_count());
        tensors.push(tensor(elements.to_vec(), &spec.shape)?);
        rest = others;
    }
    Ok(tensors)
}

/// The chosen examples' features in the model's shape, and their labels if `label_shape` is given: the shape
/// of one example's labels, empty for a class number.
///
/// # Errors
/// Returns an [`ExecuteError`] if memory is short.
pub(crate) fn feeds(
    examples: &Examples,
    indices: &[usize],
    input_shape: &[usize],
    labels: Option<(&Labels, &[usize])>,
) -> Result<Feeds, ExecuteError> {
    let batched = |shape: &[usize]| [&[indices.len()], shape].concat();
    let features = tensor(examples.gather_features(indices), &batched(input_shape))?;
    let labels = match labels {
        None => None,
        Some((Labels::Classes(classes), shape)) => Some(tensor(classes.clone(), &batched(shape))?),
        Some((Labels::Targets(targets, _), shape)) => Some(tensor(targets.clone(), &batched(shape))?),
    };
    Ok(Feeds { features, labels })
}
