//! The tensors that make up a model's weights.

use folkmoot_protocol::TensorSpec;

/// The name, shape and kind of one tensor of the weights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSpec {
    /// The name of the ONNX initializer.
    pub name: String,
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// The way in which training changes the tensor.
    pub kind: ParameterKind,
}

/// The way in which training changes a tensor of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Training changes it by its gradient.
    Trained,
    /// The forward pass changes it: it is a running mean or variance of batch normalisation.
    Statistic,
    /// Training does not change it unless a plan says so. It is a single number that no layer reads as a weight or a
    /// bias, a table of positions, or a constant inside of a group normalisation.
    Constant,
}

impl ParameterSpec {
    /// Returns the number of elements: the product of the dimensions.
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
