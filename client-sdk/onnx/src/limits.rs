//! What an imported model may cost.

/// Limits for a model from a source that is not trusted. All are checked before memory is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLimits {
    /// Size of the ONNX file in bytes.
    pub model_bytes_max: usize,
    /// Nodes of the graph.
    pub nodes_max: usize,
    /// Initializers of the graph.
    pub initializers_max: usize,
    /// Elements of all trainable tensors together.
    pub parameters_max: usize,
    /// Attributes of all nodes together.
    pub attributes_max: usize,
    /// Elements of one tensor, and of one intermediate result for a batch.
    pub tensor_elements_max: usize,
    /// Elements of all frozen tensors together, with what is computed of them at import.
    pub constant_elements_max: usize,
    /// Operations of the graph, of which an ONNX node may become many: recurrent ones become some for each time
    /// step.
    pub graph_nodes_max: usize,
}

impl Default for ImportLimits {
    /// Fits models of up to 256 million parameters.
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

/// Dimensions of one tensor.
pub(super) const RANK_MAX: usize = 8;
/// The oldest operator set read: from 7 on, elementwise operators broadcast as they do today.
pub(super) const OPSET_MIN: i64 = 7;
/// The newest operator set whose changes to the supported operators are known to be none.
pub(super) const OPSET_MAX: i64 = 28;
