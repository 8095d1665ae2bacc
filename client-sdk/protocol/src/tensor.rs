use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits::{DIMENSIONS_MAX, PARAMETERS_MAX, TENSOR_NAME_BYTES_MAX, TENSORS_MAX};

/// The name of the first tensor of a task with clusters: the share of each cluster.
pub(crate) const CLUSTER_SHARES: &str = "cluster_shares";
/// The name of the first tensor of a task with widths: the share of the clients with each width.
pub(crate) const WIDTH_SHARES: &str = "width_shares";

/// One trainable tensor of a model: its name in the ONNX graph, and its shape. All values are float32.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TensorSpec {
    /// The initializer's name in the ONNX graph.
    pub name: String,
    /// The dimensions, outermost first; empty for a scalar.
    pub shape: Vec<u64>,
}

/// The trainable tensors of a model, in the order in which weights and updates list them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TensorSchema {
    /// The tensors, in order.
    pub tensors: Vec<TensorSpec>,
}

/// The schema is empty or exceeds a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// There is nothing to train.
    #[error("the model has no trainable tensor")]
    Empty,
    /// There are too many tensors.
    #[error("the model has {0} trainable tensors; the limit is {TENSORS_MAX}")]
    TooManyTensors(usize),
    /// A tensor's name is too long.
    #[error("the name of tensor {0} (counted from 0) is longer than {TENSOR_NAME_BYTES_MAX} bytes")]
    NameTooLong(usize),
    /// A tensor has too many dimensions.
    #[error("tensor `{0}` has more than {DIMENSIONS_MAX} dimensions")]
    TooManyDimensions(String),
    /// The number of elements overflows or exceeds the limit.
    #[error(
        "the tensors up to and including `{0}` have more than {PARAMETERS_MAX} parameters; use a smaller model"
    )]
    TooManyParameters(String),
}

impl TensorSpec {
    /// Returns the number of elements, or `None` if the product overflows.
    pub fn element_count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &dimension| product.checked_mul(dimension))
    }
}

impl TensorSchema {
    /// Checks the schema against the limits and returns the number of parameters.
    ///
    /// # Errors
    /// [`SchemaError`] for the first fault. Nothing has been allocated by then.
    pub fn validate(&self) -> Result<u64, SchemaError> {
        if self.tensors.is_empty() {
            return Err(SchemaError::Empty);
        }
        if self.tensors.len() > TENSORS_MAX {
            return Err(SchemaError::TooManyTensors(self.tensors.len()));
        }
        let mut total = 0u64;
        for (index, tensor) in self.tensors.iter().enumerate() {
            if tensor.name.len() > TENSOR_NAME_BYTES_MAX {
                return Err(SchemaError::NameTooLong(index));
            }
            if tensor.shape.len() > DIMENSIONS_MAX {
                return Err(SchemaError::TooManyDimensions(tensor.name.clone()));
            }
            total = tensor
                .element_count()
                .and_then(|count| total.checked_add(count))
                .filter(|&total| total <= PARAMETERS_MAX)
                .ok_or_else(|| SchemaError::TooManyParameters(tensor.name.clone()))?;
        }
        if total == 0 { Err(SchemaError::Empty) } else { Ok(total) }
    }

    /// Returns the number of parameters. The schema must have passed [`Self::validate`].
    pub fn parameter_count(&self) -> u64 {
        self.tensors.iter().filter_map(TensorSpec::element_count).sum()
    }

    /// Returns the schema's digest, which every update contains: names, shapes and order in 32 bytes.
    ///
    /// This is SHA-256 over, for each tensor: the name's length (u64 LE), the name, the number of dimensions (u64 LE)
    /// and each dimension (u64 LE).
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for tensor in &self.tensors {
            hasher.update((tensor.name.len() as u64).to_le_bytes());
            hasher.update(tensor.name.as_bytes());
            hasher.update((tensor.shape.len() as u64).to_le_bytes());
            for dimension in &tensor.shape {
                hasher.update(dimension.to_le_bytes());
            }
        }
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(shapes: &[&[u64]]) -> TensorSchema {
        let tensors = shapes.iter().enumerate();
        let spec = |(index, shape): (usize, &&[u64])| TensorSpec {
            name: format!("t{index}"),
            shape: shape.to_vec(),
        };
        TensorSchema { tensors: tensors.map(spec).collect() }
    }

    #[test]
    fn parameters_are_counted() {
        assert_eq!(schema(&[&[64, 64], &[64], &[]]).validate(), Ok(64 * 64 + 64 + 1));
    }

    #[test]
    fn absurd_shapes_are_refused_before_anything_is_allocated() {
        assert_eq!(schema(&[]).validate(), Err(SchemaError::Empty));
        assert_eq!(schema(&[&[0]]).validate(), Err(SchemaError::Empty));
        let overflow = schema(&[&[1 << 40, 1 << 40]]).validate();
        assert_eq!(overflow, Err(SchemaError::TooManyParameters("t0".into())));
        let product = schema(&[&[PARAMETERS_MAX], &[1]]).validate();
        assert_eq!(product, Err(SchemaError::TooManyParameters("t1".into())));
        assert_eq!(schema(&[&[1; 9]]).validate(), Err(SchemaError::TooManyDimensions("t0".into())));
    }

    #[test]
    fn the_digest_sees_names_shapes_and_order() {
        let base = schema(&[&[2, 3], &[3]]);
        let mut reversed = base.clone();
        reversed.tensors.reverse();
        let mut renamed = base.clone();
        renamed.tensors[0].name = "u0".into();
        for other in [reversed, renamed, schema(&[&[3, 2], &[3]])] {
            assert_ne!(base.digest(), other.digest());
        }
    }
}
