//! The content of a file or folder, before it becomes examples.

use std::path::Path;

use folkmoot_engine::{Examples, Labels};

use crate::{DataError, Dataset, Fault, Groups};

/// The content that a format has read, before the final checks.
pub(crate) struct Content {
    /// The features, row-major.
    pub(crate) features: Vec<f32>,
    /// The feature shape of one example.
    pub(crate) shape: Vec<usize>,
    pub(crate) labels: Labels,
    pub(crate) groups: Option<Groups>,
}

impl Content {
    /// Checks the content and converts it to examples.
    pub(crate) fn into_dataset(self, path: &Path) -> Result<Dataset, DataError> {
        let examples = examples(self.features, self.shape, self.labels, path)?;
        Ok(Dataset { examples, groups: self.groups })
    }
}

/// Creates examples from features and labels read from `path`.
pub(crate) fn examples(
    features: Vec<f32>,
    shape: Vec<usize>,
    labels: Labels,
    path: &Path,
) -> Result<Examples, DataError> {
    if labels == Labels::Classes(Vec::new()) || labels == Labels::Targets(Vec::new(), 1) {
        return Err(DataError::invalid(
            path,
            Fault::new("has no examples", "choose a file with at least one example"),
        ));
    }
    Examples::new(features, shape, labels)
        .map_err(|error| DataError::invalid(path, Fault::new(error.to_string(), "correct the file")))
}
