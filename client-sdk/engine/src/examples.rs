//! Local examples: features and labels, in memory.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The labels of examples.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// The correct class of each example.
    Classes(Vec<u32>),
    /// Class numbers, row-major, and the number of class numbers per example: one for each position of a sequence.
    Sequences(Vec<u32>, usize),
    /// Target values, row-major, and the number of targets per example.
    Targets(Vec<f32>, usize),
}

impl Labels {
    /// Returns the number of labels per example.
    pub fn per_example(&self) -> usize {
        match self {
            Self::Classes(_) => 1,
            Self::Sequences(_, width) | Self::Targets(_, width) => *width,
        }
    }

    /// Returns all labels as numbers; classes are exact up to 2²⁴.
    #[cfg(feature = "gpu")]
    pub(crate) fn numbers(&self) -> Vec<f32> {
        match self {
            Self::Classes(classes) | Self::Sequences(classes, _) => {
                classes.iter().map(|class| *class as f32).collect()
            }
            Self::Targets(targets, _) => targets.clone(),
        }
    }

    /// Appends the labels of these examples as numbers; classes are exact up to 2²⁴.
    pub(crate) fn numbers_of(&self, rows: Range<usize>, numbers: &mut Vec<f32>) {
        numbers.clear();
        let width = self.per_example();
        let range = rows.start * width..rows.end * width;
        match self {
            Self::Classes(classes) | Self::Sequences(classes, _) => {
                numbers.extend(classes[range].iter().map(|class| *class as f32));
            }
            Self::Targets(targets, _) => numbers.extend_from_slice(&targets[range]),
        }
    }

    /// Returns the number of labels of all examples together.
    fn len(&self) -> usize {
        match self {
            Self::Classes(classes) | Self::Sequences(classes, _) => classes.len(),
            Self::Targets(targets, _) => targets.len(),
        }
    }

    /// Returns the number of examples, or `None` if the labels do not divide into whole rows.
    fn rows(&self) -> Option<usize> {
        let (labels, width) = (self.len(), self.per_example());
        (width > 0 && labels.is_multiple_of(width)).then(|| labels / width)
    }
}

/// Features and labels of the same examples. Cloning is cheap: clones share their content.
#[derive(Clone, PartialEq)]
pub struct Examples(Arc<Content>);

#[derive(Clone, PartialEq)]
struct Content {
    features: Vec<f32>,
    feature_shape: Vec<usize>,
    labels: Labels,
    weights: Option<Vec<f32>>,
    rows: usize,
}

/// Why features and labels do not form a data set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExamplesError {
    /// A dimension of the features is 0, or their product overflows.
    #[error("the feature shape {shape:?} has a dimension of 0, or more elements than fit in memory")]
    InvalidShape {
        /// The shape that was given.
        shape: Vec<usize>,
    },
    /// The labels do not divide into rows of the given width.
    #[error("{elements} labels are not a multiple of {width}, the number of labels of an example")]
    InvalidTargets {
        /// The number of labels.
        elements: usize,
        /// The number of labels per example.
        width: usize,
    },
    /// The number of feature values does not match the labels.
    #[error(
        "the labels are for {rows} examples, which need {expected} feature values, but {found} were given"
    )]
    WrongLength {
        /// The number of examples, from the labels.
        rows: usize,
        /// The number of examples times the features per example.
        expected: usize,
        /// The number of feature values given.
        found: usize,
    },
    /// A feature or a target is NaN or infinite.
    #[error("a value of example {row} is NaN or infinite; replace it, or remove the example")]
    NotFinite {
        /// The example, counted from 0.
        row: usize,
    },
    /// The number of weights differs from the number of examples.
    #[error("{rows} examples need {rows} weights, but {found} were given")]
    WeightCount {
        /// The number of examples.
        rows: usize,
        /// The number of weights given.
        found: usize,
    },
    /// A weight is negative, NaN or infinite.
    #[error("the weight of example {row} is negative, NaN or infinite; it must be finite and 0 or more")]
    InvalidWeight {
        /// The example, counted from 0.
        row: usize,
    },
    /// An index is out of range.
    #[error("example {index} does not exist; the data set has {rows} examples")]
    NoSuchExample {
        /// The requested index.
        index: usize,
        /// The number of examples.
        rows: usize,
    },
}

impl Examples {
    /// Creates an empty data set. Use it if a client gets its examples later, or if the app's own training loop
    /// provides them.
    pub fn none() -> Self {
        let (features, feature_shape, labels) = (Vec::new(), vec![1], Labels::Classes(Vec::new()));
        Self(Arc::new(Content { features, feature_shape, labels, weights: None, rows: 0 }))
    }

    /// Creates examples from row-major features and their labels.
    ///
    /// `feature_shape` is the shape of one example. [`crate::Trainer::new`] and [`crate::evaluate()`] check whether
    /// shape and labels match a model.
    ///
    /// # Errors
    /// Returns an [`ExamplesError`] if the lengths do not match or a value is not finite.
    pub fn new(features: Vec<f32>, feature_shape: Vec<usize>, labels: Labels) -> Result<Self, ExamplesError> {
        let width = feature_shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        let Some(width) = width.filter(|width| *width > 0) else {
            return Err(ExamplesError::InvalidShape { shape: feature_shape });
        };
        let rows = labels
            .rows()
            .ok_or(ExamplesError::InvalidTargets { elements: labels.len(), width: labels.per_example() })?;
        let expected = rows.saturating_mul(width);
        if features.len() != expected {
            return Err(ExamplesError::WrongLength { rows, expected, found: features.len() });
        }
        expect_finite(&features, width)?;
        if let Labels::Targets(targets, width) = &labels {
            expect_finite(targets, *width)?;
        }
        Ok(Self(Arc::new(Content { features, feature_shape, labels, weights: None, rows })))
    }

    /// Gives each example a weight in training, 0 or more.
    ///
    /// The loss of a batch is then Σ wᵢ·lossᵢ / Σ wᵢ over its examples, and 0 if all of its weights are 0. So only the
    /// ratios of weights within a batch matter. Evaluation counts every example once.
    ///
    /// # Errors
    /// Returns an [`ExamplesError`] unless there is one finite weight of 0 or more for each example.
    pub fn with_weights(self, weights: Vec<f32>) -> Result<Self, ExamplesError> {
        let rows = self.len();
        if weights.len() != rows {
            return Err(ExamplesError::WeightCount { rows, found: weights.len() });
        }
        if let Some(row) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(ExamplesError::InvalidWeight { row });
        }
        let mut content = Arc::unwrap_or_clone(self.0);
        content.weights = Some(weights);
        Ok(Self(Arc::new(content)))
    }

    /// Returns a copy with other labels for the same number of examples.
    pub(crate) fn with_labels(&self, labels: Labels) -> Self {
        Self(Arc::new(Content { labels, ..Content::clone(&self.0) }))
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.0.rows
    }

    /// Returns whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.0.rows == 0
    }

    /// Returns the features of all examples, row-major.
    pub fn features(&self) -> &[f32] {
        &self.0.features
    }

    /// Returns the dimensions of one example's features.
    pub fn feature_shape(&self) -> &[usize] {
        &self.0.feature_shape
    }

    /// Returns the labels of all examples.
    pub fn labels(&self) -> &Labels {
        &self.0.labels
    }

    /// Returns the weights of all examples, if they have any.
    pub fn weights(&self) -> Option<&[f32]> {
        self.0.weights.as_deref()
    }

    /// Returns the number of feature values per example.
    pub(crate) fn feature_count(&self) -> usize {
        self.0.feature_shape.iter().product()
    }

    /// Returns the examples with these indices, in this order; an index may repeat.
    ///
    /// # Errors
    /// Returns [`ExamplesError::NoSuchExample`] for an index out of range.
    pub fn subset(&self, indices: &[usize]) -> Result<Self, ExamplesError> {
        let rows = self.len();
        if let Some(index) = indices.iter().copied().find(|index| *index >= rows) {
            return Err(ExamplesError::NoSuchExample { index, rows });
        }
        let mut features = Vec::new();
        gather(&self.0.features, self.feature_count(), indices, &mut features);
        let weights =
            self.0.weights.as_ref().map(|weights| indices.iter().map(|row| weights[*row]).collect());
        Ok(Self(Arc::new(Content {
            features,
            feature_shape: self.0.feature_shape.clone(),
            labels: self.gather_labels(indices),
            weights,
            rows: indices.len(),
        })))
    }

    fn gather_labels(&self, indices: &[usize]) -> Labels {
        fn gathered<E: Copy>(labels: &[E], width: usize, indices: &[usize]) -> Vec<E> {
            let mut chosen = Vec::with_capacity(indices.len() * width);
            gather(labels, width, indices, &mut chosen);
            chosen
        }
        match &self.0.labels {
            Labels::Classes(classes) => Labels::Classes(gathered(classes, 1, indices)),
            Labels::Sequences(classes, width) => {
                Labels::Sequences(gathered(classes, *width, indices), *width)
            }
            Labels::Targets(targets, width) => Labels::Targets(gathered(targets, *width, indices), *width),
        }
    }
}

/// Prints only the number of examples, never their values: local data does not belong in a log.
impl fmt::Debug for Examples {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut examples = formatter.debug_struct("Examples");
        examples
            .field("len", &self.len())
            .field("feature_shape", &self.0.feature_shape)
            .finish_non_exhaustive()
    }
}

/// Appends the chosen rows, all of which must exist.
pub(crate) fn gather<E: Copy>(elements: &[E], width: usize, rows: &[usize], gathered: &mut Vec<E>) {
    gathered.reserve(rows.len() * width);
    for row in rows {
        gathered.extend_from_slice(&elements[row * width..(row + 1) * width]);
    }
}

fn expect_finite(values: &[f32], width: usize) -> Result<(), ExamplesError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(ExamplesError::NotFinite { row: index / width }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_keeps_rows_together() {
        let examples =
            Examples::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![2], Labels::Classes(vec![7, 8, 9]))
                .unwrap();
        let subset = examples.subset(&[2, 0]).unwrap();
        assert_eq!(subset.features(), [5.0, 6.0, 1.0, 2.0]);
        assert_eq!(subset.labels(), &Labels::Classes(vec![9, 7]));
        assert_eq!(examples.subset(&[3]), Err(ExamplesError::NoSuchExample { index: 3, rows: 3 }));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let classes = || Labels::Classes(vec![0, 1]);
        let error = Examples::new(vec![1.0; 3], vec![2], classes()).unwrap_err();
        assert_eq!(error, ExamplesError::WrongLength { rows: 2, expected: 4, found: 3 });
        let error = Examples::new(vec![1.0, 2.0, 3.0, f32::NAN], vec![2], classes()).unwrap_err();
        assert_eq!(error, ExamplesError::NotFinite { row: 1 });
        let error = Examples::new(vec![], vec![usize::MAX, 2], classes()).unwrap_err();
        assert!(matches!(error, ExamplesError::InvalidShape { .. }));
        let error = Examples::new(vec![1.0], vec![1], Labels::Targets(vec![1.0], 0)).unwrap_err();
        assert!(matches!(error, ExamplesError::InvalidTargets { .. }));
    }

    #[test]
    fn sequences_and_weights_stay_with_their_rows() {
        let labels = Labels::Sequences(vec![1, 2, 3, 4], 2);
        let examples = Examples::new(vec![0.5, 0.75], vec![1], labels).unwrap();
        let examples = examples.with_weights(vec![1.0, 0.0]).unwrap();
        let subset = examples.subset(&[1]).unwrap();
        assert_eq!(subset.labels(), &Labels::Sequences(vec![3, 4], 2));
        assert_eq!(subset.weights(), Some(&[0.0][..]));
        let error = examples.clone().with_weights(vec![1.0]).unwrap_err();
        assert_eq!(error, ExamplesError::WeightCount { rows: 2, found: 1 });
        let error = examples.with_weights(vec![1.0, -1.0]).unwrap_err();
        assert_eq!(error, ExamplesError::InvalidWeight { row: 1 });
        let error = Examples::new(vec![], vec![1], Labels::Sequences(vec![1, 2, 3], 2)).unwrap_err();
        assert_eq!(error, ExamplesError::InvalidTargets { elements: 3, width: 2 });
    }
}
