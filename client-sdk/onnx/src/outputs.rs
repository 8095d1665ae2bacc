//! The outputs of a model. A loss is computed from one of them.

#[cfg(feature = "complete")]
use std::fmt;

use super::ImportError;

/// A tensor of a model from which a loss may be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOutput {
    /// The name in the file.
    pub name: String,
    /// The dimensions for one example, without the batch dimension. Empty if they are not known.
    pub shape: Vec<usize>,
    /// The reason why the output cannot be trained, if there is one.
    pub obstacle: Option<Obstacle>,
}

/// The reason why an output cannot be trained. The text is a predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Its elements are integers or booleans, which have no gradients.
    Integers,
    /// Its first dimension is not the batch. The shape is that for a batch of two examples.
    Shape(Vec<usize>),
    /// It depends on operators that the engine does not support. The list says what to do about each.
    Operators(String),
}

#[cfg(feature = "complete")]
impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integers => formatter.write_str("has elements that are not floats"),
            Self::Shape(shape) => {
                write!(formatter, "has shape {shape:?}, which does not begin with the batch")
            }
            Self::Operators(listed) => write!(formatter, "depends on unsupported operators: {listed}"),
        }
    }
}

/// Returns the position of the output that is trained if a plan chooses none: the first that can be.
///
/// # Errors
/// Returns [`ImportError::InvalidOutput`] if no output begins with the batch.
pub(crate) fn first(outputs: &[ModelOutput]) -> Result<usize, ImportError> {
    let is_free = |output: &ModelOutput| output.obstacle.is_none();
    let has_batch = |output: &ModelOutput| output.obstacle == Some(Obstacle::Integers);
    let found = outputs.iter().position(is_free).or_else(|| outputs.iter().position(has_batch));
    found.ok_or_else(|| {
        let invalid = outputs.iter().find_map(|output| match &output.obstacle {
            Some(Obstacle::Shape(shape)) => Some((output.name.clone(), format!("{shape:?}"))),
            _ => None,
        });
        let (output, shape) = invalid.unwrap_or_default();
        ImportError::InvalidOutput { output, shape }
    })
}
