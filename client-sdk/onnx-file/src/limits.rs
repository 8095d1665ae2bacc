//! Limits on imported models.

/// Limits for a model from an untrusted source. The importer checks them before it allocates memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLimits {
    /// The maximum size of the ONNX file, in bytes.
    pub model_bytes_max: usize,
    /// The maximum number of nodes in the ONNX graph.
    pub nodes_max: usize,
    /// The maximum number of initializers in the ONNX graph.
    pub initializers_max: usize,
    /// The maximum number of elements in all trainable tensors together.
    pub parameters_max: usize,
    /// The maximum number of attributes of all nodes together.
    pub attributes_max: usize,
    /// The maximum number of elements in one tensor, or in one intermediate result for a batch.
    pub tensor_elements_max: usize,
    /// The maximum number of elements in all constants together, including those computed at import.
    pub constant_elements_max: usize,
    /// The maximum number of nodes in the lowered graph. One ONNX node can become many: a recurrent layer becomes
    /// several nodes for each time step.
    pub graph_nodes_max: usize,
}

impl Default for ImportLimits {
    /// Returns limits that allow models of up to 256 million parameters.
    fn default() -> Self {
        Self {
            model_bytes_max: 1 << 30,
            nodes_max: 10_000,
            initializers_max: 10_000,
            parameters_max: 1 << 28,
            attributes_max: 100_000,
            tensor_elements_max: 1 << 28,
            constant_elements_max: 1 << 26,
            graph_nodes_max: 200_000,
        }
    }
}

/// The maximum number of dimensions of a tensor.
pub const RANK_MAX: usize = 8;
