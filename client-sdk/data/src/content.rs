//! The content of a file or folder, on its way to examples.

use std::path::Path;

use folkmoot_engine::{Examples, Labels};

use crate::{DataError, Dataset, Fault, Groups};

/// The content that a format has read, before it is checked as a whole.
pub(crate) struct Content {
    /// Row-major.
    pub(crate) features: Vec<f32>,
    /// Of one example.
    pub(crate) shape: Vec<usize>,
    pub(crate) labels: Labels,
    pub(crate) groups: Option<Groups>,
}

impl Content {
    /// Checks what was read, and makes examples of it.
    pub(crate) fn into_dataset(self, path: &Path) -> Result<Dataset, DataError> {
        let examples = examples(self.features, self.shape, self.labels, path)?;
        Ok(Dataset { examples, groups: self.groups })
    }
}

/// Makes examples of features and labels that were read from `path`.
pub(crate) fn examples(
    features: Vec<f32>,
    shape: Vec<usize>,
    labels: Labels,
    path: &Path,
) -> Result<Examples, DataError> {
    if labels == Labels::Classes(Vec::new()) || labels == Labels::Targets(Vec::new(), 1) {
        return Err(DataError::invalid(path, Fault::new("has no examples", "name a file that has some")));
    }
    Examples::new(features, shape, labels)
        .map_err(|error| DataError::invalid(path, Fault::new(error.to_string(), "correct the file")))
}
