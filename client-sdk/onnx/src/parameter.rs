//! The tensors of the weights.

use folkmoot_protocol::TensorSpec;

/// Name, shape and kind of one tensor of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSpec {
    /// The name of the initializer.
    pub name: String,
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// What changes it.
    pub kind: ParameterKind,
}

/// What changes a tensor of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Its gradient.
    Trained,
    /// The forward pass in training: it is a running mean or variance of batch normalisation.
    Statistic,
}

impl ParameterSpec {
    /// The number of elements: the product of the dimensions.
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }
}

impl From<&ParameterSpec> for TensorSpec {
    fn from(parameter: &ParameterSpec) -> Self {
        let shape = parameter.shape.iter().map(|&dimension| dimension as u64).collect();
        Self { name: parameter.name.clone(), shape }
    }
}
