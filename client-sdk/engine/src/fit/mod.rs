//! Checks whether examples and weights match a model and a loss.

mod error;
#[cfg(feature = "complete")]
mod output;

pub use error::FitError;
use folkmoot_graph::vectorised;
use folkmoot_onnx::{FinalActivation, ParameterSpec};
use folkmoot_protocol::{Loss, NamePattern, TrainingPlan};

use crate::examples::{Examples, Labels};
use crate::model::Model;
use folkmoot_loss::loss::{LabelForm, Layout};

/// The maximum deviation from 1 of the sum of a target distribution. Files often round the shares to a few digits.
const DISTRIBUTION_TOLERANCE: f32 = 1e-3;

impl Model {
    /// Returns the model with the output that a plan trains: the output that the plan names, or the only output that
    /// its loss fits. A loss fits floats whose first dimension is the batch. It does not fit the output of a softmax if
    /// the loss contains one, or a single class.
    ///
    /// # Errors
    /// Returns [`FitError::Output`] if the model has no such output, and [`FitError::Outputs`] if the plan names none and
    /// the loss fits several or none.
    pub fn for_plan(&self, plan: &TrainingPlan) -> Result<Self, FitError> {
        match &plan.output {
            Some(name) if name == self.output_name() => Ok(self.clone()),
            #[cfg(feature = "complete")]
            Some(name) => {
                self.with_output(name).map_err(|error| FitError::Output { reason: error.to_string() })
            }
            // The small importer reads models with one output, and trains no other value.
            #[cfg(not(feature = "complete"))]
            Some(_) => Err(FitError::Output { reason: "this build trains only outputs".into() }),
            #[cfg(feature = "complete")]
            None if self.outputs().len() > 1 => output::fitting(self, plan.loss),
            None => Ok(self.clone()),
        }
    }

    /// Returns the name of the function that computes an output, if the loss contains it, and the name of its input.
    fn contained_activation(&self, output: &str, loss: Loss) -> Option<(&'static str, &str)> {
        let contains_softmax = loss.contains_softmax();
        let (activation, input) = self.final_activation_of(output)?;
        let name = match activation {
            FinalActivation::Softmax if contains_softmax || loss == Loss::BinaryCrossEntropy => "Softmax",
            FinalActivation::Sigmoid if loss == Loss::BinaryCrossEntropy => "Sigmoid",
            _ => return None,
        };
        Some((name, input))
    }

    /// Checks that the model does not end with a function that the loss contains, such as a softmax.
    ///
    /// # Errors
    /// Returns [`FitError::FinalActivation`].
    pub fn check_loss(&self, loss: Loss) -> Result<(), FitError> {
        check_loss(self, loss)
    }

    /// Checks that a plan has a weight for each class of the model's output, or none.
    ///
    /// # Errors
    /// Returns [`FitError::ClassWeights`].
    pub fn check_class_weights(&self, plan: &TrainingPlan) -> Result<(), FitError> {
        check_class_weights(&plan.class_weights, self.output_shape())
    }

    /// Checks that examples and a loss match the model, as every training and evaluation does.
    ///
    /// # Errors
    /// Returns a [`FitError`] that names the mismatch.
    pub fn check_examples(&self, examples: &Examples, loss: Loss) -> Result<(), FitError> {
        fitted(self, examples, loss).map(|_| ())
    }
}

/// Checks that a loss and examples match a model. Returns the model for the examples' length of sequences, and how to read
/// the labels.
///
/// # Errors
/// Returns a [`FitError`] that names the mismatch.
pub(crate) fn fitted(model: &Model, examples: &Examples, loss: Loss) -> Result<(Model, Layout), FitError> {
    check_loss(model, loss)?;
    let model = for_width(model, examples.feature_count())?;
    let layout = check_examples(model.input_shape(), model.output_shape(), examples, loss)?;
    check_lookups(&model, examples.features())?;
    Ok((model, layout))
}

/// Returns the model for examples with this many features: a free length of sequences follows from their number.
///
/// # Errors
/// Returns [`FitError::Length`] if the model cannot have this length.
pub(crate) fn for_width(model: &Model, features: usize) -> Result<Model, FitError> {
    model.for_width(features).map_err(|error| FitError::Length { features, reason: error.to_string() })
}

/// Checks that a model does not end with a function that the loss contains.
///
/// # Errors
/// Returns [`FitError::FinalActivation`].
pub(crate) fn check_loss(model: &Model, loss: Loss) -> Result<(), FitError> {
    match model.contained_activation(model.output_name(), loss) {
        Some((activation, input)) => {
            Err(FitError::FinalActivation { activation, loss: loss.name(), input: input.to_owned() })
        }
        None => Ok(()),
    }
}

/// Checks that there is a weight for each class, or none at all.
///
/// # Errors
/// Returns [`FitError::ClassWeights`].
pub(crate) fn check_class_weights(weights: &[f32], output_shape: &[usize]) -> Result<(), FitError> {
    let (found, classes) = (weights.len(), output_shape.last().copied().unwrap_or(1));
    if found == 0 || found == classes { Ok(()) } else { Err(FitError::ClassWeights { found, classes }) }
}

/// Checks that features with which a model looks up rows of a table are valid row numbers. `features` are row-major.
///
/// # Errors
/// Returns [`FitError::NoSuchRow`] for the first feature that does not.
pub(crate) fn check_lookups(model: &Model, features: &[f32]) -> Result<(), FitError> {
    let lookups = &model.lookups().checked;
    if lookups.is_empty() {
        return Ok(());
    }
    for (row, features) in features.chunks_exact(model.input_shape().iter().product()).enumerate() {
        if let Some(lookup) = lookups.iter().find(|lookup| lookup.row(features[lookup.column]).is_none()) {
            let last = lookup.rows - 1;
            let needed = match (lookup.scale == 1.0, lookup.offset) {
                (true, 0.0) => format!("a whole number from 0 to {last}"),
                _ => format!(
                    "such that {} times it, plus {}, is a whole number from 0 to {last}",
                    lookup.scale, lookup.offset
                ),
            };
            let column = lookup.column;
            return Err(FitError::NoSuchRow { row, column, value: features[column], needed });
        }
    }
    Ok(())
}

/// Checks that examples match the shapes of a model and a loss, and returns how to read the labels.
///
/// Features in one row are accepted for any input shape with the same number of elements, because files are often flat.
/// Features of any shape are accepted for an input with one dimension, to which they are flattened row by row.
///
/// # Errors
/// Returns a [`FitError`] that names the mismatch.
pub(crate) fn check_examples(
    input_shape: &[usize],
    output_shape: &[usize],
    examples: &Examples,
    loss: Loss,
) -> Result<Layout, FitError> {
    let (expected, found) = (input_shape, examples.feature_shape());
    let is_flattened = (expected.len() == 1 || found.len() == 1)
        && expected.iter().product::<usize>() == found.iter().product::<usize>();
    if expected != found && !is_flattened {
        return Err(FitError::FeatureShape { expected: expected.to_vec(), found: found.to_vec() });
    }
    let form = label_form(output_shape, examples.labels(), loss)?;
    let layout = Layout::new(output_shape, form);
    check_label_count(&layout, output_shape, examples.labels())?;
    match examples.labels() {
        Labels::Classes(classes) | Labels::Sequences(classes, _) => {
            check_classes(&layout, classes, examples.labels().per_example())?;
        }
        Labels::Targets(targets, width) => check_targets(&layout, targets, *width, loss)?,
    }
    Ok(layout)
}

/// Returns how to interpret the labels for this output shape and loss.
fn label_form(output_shape: &[usize], labels: &Labels, loss: Loss) -> Result<LabelForm, FitError> {
    let is_target = matches!(labels, Labels::Targets(..));
    let kind = |needed| FitError::LabelKind { loss: loss.name(), needed };
    match loss {
        Loss::ModelOutput => match output_shape.iter().product::<usize>() {
            1 => Ok(LabelForm::Ignored(labels.per_example())),
            _ => Err(kind("one output per example")),
        },
        loss if loss.is_cross_entropy() => Ok(if is_target { LabelForm::Values } else { LabelForm::Classes }),
        Loss::BinaryCrossEntropy | Loss::Hinge => {
            let is_for_each_output = labels.per_example() == output_shape.iter().product::<usize>();
            Ok(if is_target || is_for_each_output { LabelForm::Values } else { LabelForm::Classes })
        }
        Loss::KlDivergence if !is_target => Err(kind("targets that are distributions, not class numbers")),
        _ if !is_target => Err(kind("target values, not class numbers")),
        _ => Ok(LabelForm::Values),
    }
}

fn check_label_count(layout: &Layout, output_shape: &[usize], labels: &Labels) -> Result<(), FitError> {
    let found = labels.per_example();
    let has_class_axis = !output_shape.is_empty() || layout.form != LabelForm::Classes;
    if found == layout.labels_per_example() && has_class_axis {
        return Ok(());
    }
    let labels = match labels {
        Labels::Classes(_) => "one class number for each example".to_owned(),
        Labels::Sequences(_, width) => format!("{width} class numbers for each example"),
        Labels::Targets(_, width) => format!("{width} targets for each example"),
    };
    Err(FitError::OutputShape { output: output_shape.to_vec(), labels })
}

fn check_classes(layout: &Layout, classes: &[u32], per_example: usize) -> Result<(), FitError> {
    let class_count = match layout.form {
        LabelForm::Classes => layout.classes,
        LabelForm::Values => 2,
        LabelForm::Ignored(_) => return Ok(()),
    };
    match classes.iter().position(|class| *class as usize >= class_count) {
        Some(index) => Err(FitError::ClassOutOfRange {
            row: index / per_example,
            class: classes[index],
            class_max: class_count.saturating_sub(1),
        }),
        None => Ok(()),
    }
}

fn check_targets(layout: &Layout, targets: &[f32], width: usize, loss: Loss) -> Result<(), FitError> {
    let error = |index: usize, value, needed| {
        let (row, loss) = (index / width, loss.name());
        Err(FitError::TargetOutOfRange { row, value, loss, needed })
    };
    let outside = |is_allowed: fn(f32) -> bool| targets.iter().position(|target| !is_allowed(*target));
    match loss {
        Loss::BinaryCrossEntropy => match outside(|target| (0.0..=1.0).contains(&target)) {
            Some(index) => error(index, targets[index], "numbers from 0 to 1"),
            None => Ok(()),
        },
        Loss::Hinge => match outside(|target| target == 0.0 || target == 1.0) {
            Some(index) => error(index, targets[index], "0 or 1"),
            None => Ok(()),
        },
        loss if loss.contains_softmax() => {
            if let Some(index) = outside(|target| target >= 0.0) {
                return error(index, targets[index], "shares of 0 or more");
            }
            let sums = targets.chunks_exact(layout.classes).map(|shares| shares.iter().sum::<f32>());
            let is_whole = |sum: f32| (sum - 1.0).abs() <= DISTRIBUTION_TOLERANCE;
            match sums.enumerate().find(|(_, sum)| !is_whole(*sum)) {
                Some((position, sum)) => error(position * layout.classes, sum, "shares whose sum is 1"),
                None => Ok(()),
            }
        }
        _ => Ok(()),
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
    // Checks many weights at once: a loop without early exit vectorises.
    if vectorised(
        #[inline(always)]
        || weights.iter().fold(true, |all, weight| all & weight.is_finite()),
    ) {
        return Ok(());
    }
    let index = weights.iter().position(|weight| !weight.is_finite()).unwrap_or_default();
    Err(FitError::WeightNotFinite { index })
}

/// Returns for each parameter whether one of the patterns matches its name. `list` is the plan's name for the list of
/// patterns.
///
/// # Errors
/// Returns [`FitError::Pattern`] for a pattern without a match, with the most similar name.
pub(crate) fn matching(
    parameters: &[ParameterSpec],
    patterns: &[NamePattern],
    list: &'static str,
) -> Result<Vec<bool>, FitError> {
    for pattern in patterns {
        if !parameters.iter().any(|spec| pattern.matches(&spec.name)) {
            let likeness = |name: &str| likeness(pattern.as_str(), name);
            let names = parameters.iter().map(|spec| spec.name.as_str());
            let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).unwrap_or_default();
            let (pattern, nearest) = (pattern.as_str().to_owned(), nearest.to_owned());
            return Err(FitError::Pattern { list, pattern, nearest });
        }
    }
    let is_matched = |spec: &ParameterSpec| patterns.iter().any(|pattern| pattern.matches(&spec.name));
    Ok(parameters.iter().map(is_matched).collect())
}

/// Returns the similarity of a pattern and a name, to find the nearest name for an error message.
#[cfg(feature = "complete")]
fn likeness(pattern: &str, name: &str) -> f64 {
    strsim::jaro_winkler(pattern, name)
}

/// Compares only the beginnings, because the small module for browsers has no room for more. The coordinator has refused
/// such a plan before.
#[cfg(not(feature = "complete"))]
fn likeness(pattern: &str, name: &str) -> f64 {
    pattern.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &[usize], labels: Labels, loss: Loss) -> Result<LabelForm, FitError> {
        let rows = match &labels {
            Labels::Classes(classes) => classes.len(),
            Labels::Sequences(classes, width) => classes.len() / width,
            Labels::Targets(targets, width) => targets.len() / width,
        };
        let examples = Examples::new(vec![0.0; rows], vec![1], labels).unwrap();
        check_examples(&[1], output, &examples, loss).map(|layout| layout.form)
    }

    #[test]
    fn features_are_a_row_or_have_the_shape_of_the_input() {
        let check = |input: &[usize], shape: &[usize]| {
            let values = vec![0.0; shape.iter().product()];
            let examples = Examples::new(values, shape.to_vec(), Labels::Classes(vec![0])).unwrap();
            check_examples(input, &[2], &examples, Loss::SoftmaxCrossEntropy).is_ok()
        };
        assert!(check(&[3, 2, 2], &[3, 2, 2]) && check(&[3, 2, 2], &[12]) && check(&[12], &[3, 2, 2]));
        assert!(!check(&[2, 2, 3], &[3, 2, 2]) && !check(&[13], &[3, 2, 2]) && !check(&[3, 4], &[3, 2, 2]));
    }

    #[test]
    fn class_numbers_are_read_along_the_last_axis_or_for_each_output() {
        let softmax = Loss::SoftmaxCrossEntropy;
        assert_eq!(check(&[3], Labels::Classes(vec![2]), softmax), Ok(LabelForm::Classes));
        assert_eq!(check(&[2, 3], Labels::Sequences(vec![2, 0], 2), softmax), Ok(LabelForm::Classes));
        assert_eq!(check(&[1], Labels::Classes(vec![0, 1]), Loss::Hinge), Ok(LabelForm::Values));
        assert_eq!(check(&[], Labels::Classes(vec![0, 1]), Loss::Hinge), Ok(LabelForm::Values));
        assert_eq!(check(&[3], Labels::Classes(vec![2]), Loss::BinaryCrossEntropy), Ok(LabelForm::Classes));
        assert_eq!(check(&[3], Labels::Targets(vec![0.5, 0.5, 0.0], 3), softmax), Ok(LabelForm::Values));
        let labels = Labels::Sequences(vec![9, 8, 7, 6], 2);
        assert_eq!(check(&[], labels.clone(), Loss::ModelOutput), Ok(LabelForm::Ignored(2)));
        assert_eq!(
            check(&[3], labels, Loss::ModelOutput),
            Err(FitError::LabelKind { loss: "model_output", needed: "one output per example" })
        );
    }

    #[test]
    fn wrong_labels_are_named() {
        let softmax = Loss::SoftmaxCrossEntropy;
        let refusal = |output: &[usize], labels, loss: Loss| check(output, labels, loss).unwrap_err();
        let error = refusal(&[2, 3], Labels::Sequences(vec![0, 1, 0, 3], 2), softmax);
        assert_eq!(error, FitError::ClassOutOfRange { row: 1, class: 3, class_max: 2 });
        let error = refusal(&[1], Labels::Classes(vec![0, 2]), Loss::BinaryCrossEntropy);
        assert_eq!(error, FitError::ClassOutOfRange { row: 1, class: 2, class_max: 1 });
        let error = refusal(&[2, 3], Labels::Classes(vec![0]), softmax);
        assert!(matches!(error, FitError::OutputShape { .. }));
        let error = refusal(&[], Labels::Classes(vec![0]), softmax);
        assert!(matches!(error, FitError::OutputShape { .. }));
        let error = refusal(&[3], Labels::Classes(vec![0]), Loss::Cosine);
        assert!(error.to_string().contains("cosine needs target values"), "{error}");
        let error = refusal(&[2], Labels::Targets(vec![0.5, 0.5, 0.5, 0.75], 2), Loss::KlDivergence);
        assert!(matches!(error, FitError::TargetOutOfRange { row: 1, value: 1.25, .. }), "{error}");
        let error = refusal(&[1], Labels::Targets(vec![0.5], 1), Loss::Hinge);
        assert!(matches!(error, FitError::TargetOutOfRange { row: 0, .. }), "{error}");
        let error = refusal(&[1], Labels::Targets(vec![1.0, -0.5], 1), Loss::BinaryCrossEntropy);
        assert!(matches!(error, FitError::TargetOutOfRange { row: 1, .. }), "{error}");
    }

    #[test]
    fn a_frozen_pattern_that_stands_for_nothing_gets_a_suggestion() {
        let specs = Model::from_onnx(&folkmoot_onnx::build::mlp(&[2, 3, 2], 1), &Default::default());
        let specs = specs.unwrap().parameters().to_vec();
        let frozen = matching(&specs, &[NamePattern(specs[0].name.clone())], "frozen").unwrap();
        assert_eq!(frozen, [true, false, false, false]);
        let wrong = format!("{}t", specs[1].name);
        let Err(FitError::Pattern { nearest, .. }) = matching(&specs, &[NamePattern(wrong)], "frozen") else {
            panic!("the pattern stands for nothing");
        };
        assert_eq!(nearest, specs[1].name);
    }
}
