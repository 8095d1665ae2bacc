//! The mismatches of examples, weights, models and plans.

/// Why examples or weights do not match a model and a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The number of weights differs from the number of the model's parameters.
    #[error("the model has {expected} parameters, but {found} weights were given")]
    WeightCount {
        /// [`Model::parameter_count`](crate::Model::parameter_count).
        expected: usize,
        /// The number of weights given.
        found: usize,
    },
    /// A weight is NaN or infinite.
    #[error("weight {index} is NaN or infinite, and must be finite")]
    WeightNotFinite {
        /// The weight's position in schema order.
        index: usize,
    },
    /// The features do not have the shape of the model's input.
    #[error(
        "the model expects features of shape {expected:?} (or flattened), but the examples have shape {found:?}"
    )]
    FeatureShape {
        /// [`Model::input_shape`](crate::Model::input_shape).
        expected: Vec<usize>,
        /// [`Examples::feature_shape`](crate::Examples::feature_shape).
        found: Vec<usize>,
    },
    /// The model cannot have sequences as long as those of the examples.
    #[error("the model cannot be used for examples with {features} features: {reason}")]
    Length {
        /// The number of features of an example.
        features: usize,
        /// The importer's error text.
        reason: String,
    },
    /// The loss needs another kind of labels, or of output.
    #[error("{loss} needs {needed}")]
    LabelKind {
        /// The name of the loss in a plan.
        loss: &'static str,
        /// The required kind of labels or of output.
        needed: &'static str,
    },
    /// The loss cannot compare the model's output with the labels, because their shapes differ.
    #[error("the model's output has shape {output:?}, which does not match {labels}")]
    OutputShape {
        /// [`Model::output_shape`](crate::Model::output_shape).
        output: Vec<usize>,
        /// A description of the labels.
        labels: String,
    },
    /// A class number is too large.
    #[error("example {row} has class {class}, but the model's classes are 0 to {class_max}")]
    ClassOutOfRange {
        /// The example, counted from 0.
        row: usize,
        /// The example's class number.
        class: u32,
        /// The maximum class number.
        class_max: usize,
    },
    /// The plan does not have one weight for each class.
    #[error(
        "the plan has {found} class_weights, but the model has {classes} classes; give one weight for each class"
    )]
    ClassWeights {
        /// The number of the plan's weights.
        found: usize,
        /// The number of the model's classes.
        classes: usize,
    },
    /// The plan's augmentation does not fit the examples of the model.
    #[error("plan.augmentation.{key} does not fit the model: {detail}")]
    Augmentation {
        /// The key in the plan's augmentation.
        key: &'static str,
        /// The contradiction, and what to do.
        detail: String,
    },
    /// A target is outside the range that the loss allows.
    #[error("example {row} has the target {value}; {loss} needs {needed}")]
    TargetOutOfRange {
        /// The example, counted from 0.
        row: usize,
        /// The target value. If the targets should be a distribution but do not add up to 1, their sum.
        value: f32,
        /// The name of the loss in a plan.
        loss: &'static str,
        /// The allowed targets.
        needed: &'static str,
    },
    /// A pattern of the plan matches no parameter.
    #[error(
        "no parameter's name matches the {list} pattern `{pattern}`; the nearest is `{nearest}`; correct the pattern"
    )]
    Pattern {
        /// The plan's list, such as `frozen` or `clusters.tensors`.
        list: &'static str,
        /// The pattern.
        pattern: String,
        /// The most similar parameter name.
        nearest: String,
    },
    /// A personal tensor is frozen.
    #[error("`{name}` is personal and frozen; remove it from one of the two")]
    PersonalFrozen {
        /// The name of the tensor.
        name: String,
    },
    /// The plan's clusters do not fit the model.
    #[error("{detail}")]
    Clusters {
        /// The contradiction.
        detail: String,
    },
    /// The plan's widths do not fit the model.
    #[error("{detail}")]
    Widths {
        /// The contradiction.
        detail: String,
    },
    /// A cluster is asked for that the plan does not have.
    #[error("there is no cluster {number}; the clusters are 1 to {count}")]
    NoCluster {
        /// The cluster, counted from 1.
        number: usize,
        /// The number of clusters.
        count: usize,
    },
    /// The model ends with a function that the loss contains.
    #[error(
        "the model ends with {activation}, and the loss {loss} contains its own: it would be applied twice. Remove it, so \
         that the model outputs logits, or set plan.output to its input, {input}"
    )]
    FinalActivation {
        /// The operator.
        activation: &'static str,
        /// The name of the value that the operator reads.
        input: String,
        /// The name of the loss in a plan.
        loss: &'static str,
    },
    /// The model does not have the output that the plan names, or it cannot be trained.
    #[error("{reason}. Set plan.output to the name of an output that the loss fits")]
    Output {
        /// The importer's error text.
        reason: String,
    },
    /// The model does not have the features that the plan contrasts.
    #[error(
        "{reason}. Set plan.model_contrast.features to the name of a value inside of the model that begins with the batch"
    )]
    Features {
        /// The importer's error text.
        reason: String,
    },
    /// The model has several outputs, and the plan names none.
    #[cfg(feature = "complete")]
    #[error(
        "the loss {loss} fits {found} of the model's outputs, but one must be trained. Set plan.output to its name:{listed}"
    )]
    Outputs {
        /// The name of the loss in a plan.
        loss: &'static str,
        /// The number of outputs that the loss fits.
        found: usize,
        /// Each output with its shape, or with the reason why the loss does not fit, in a line of its own.
        listed: String,
    },
    /// A feature that the model uses as the index of a row (`Gather`, an embedding) is not an index.
    #[error(
        "example {row} has {value} in feature column {column}, which the model uses as the index of a table's row; it must \
         be {needed}"
    )]
    NoSuchRow {
        /// The example, counted from 0.
        row: usize,
        /// The feature's position in the flat example, counted from 0.
        column: usize,
        /// The feature.
        value: f32,
        /// The allowed values.
        needed: String,
    },
    /// Newton's method would need too many gradients for this model.
    #[error(
        "newton is for at most {max} trained parameters, but the plan trains {found}; choose another optimizer"
    )]
    TooManyForNewton {
        /// The number of trained parameters.
        found: usize,
        /// The maximum.
        max: usize,
    },
    /// Every tensor is frozen, or the loss depends on none.
    #[error("there is nothing to train: the loss depends on no parameter that is not frozen; freeze fewer")]
    NothingToTrain,
    /// The plan requires per-example clipping, but the model has batch normalisation, through which the examples of a
    /// batch influence each other.
    #[error(
        "gradient_clipping.per_example_norm cannot be used with batch normalisation, which mixes examples; remove it, or \
         use group or layer normalisation"
    )]
    MixedExamples,
}
