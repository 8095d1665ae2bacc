//! The model as a graph of typed operators with known shapes.
//!
//! A graph is built once, from ONNX, and is immutable afterwards except that [`crate::autodiff`] appends the
//! nodes that compute gradients. Nodes are always stored in an order in which they can be run.

mod infer;
mod op;
mod shape;

pub(crate) use op::Op;
pub use shape::ShapeError;
pub(crate) use shape::{Dim, Shape, volume};

/// Names one value of a [`Graph`] by its position in [`Graph::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ValueId(pub(crate) usize);

/// Where the content of a value comes from when the graph runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The features of the examples in the batch.
    Features,
    /// The labels of the examples in the batch: class numbers or targets, as the loss wants them.
    Labels,
    /// A trainable tensor, by its index in the parameter list.
    Parameter(usize),
    /// A frozen tensor, by its index in [`Graph::constants`].
    Constant(usize),
    /// A node computes it.
    Node,
}

/// One tensor that exists while the graph runs.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) shape: Shape,
    pub(crate) source: Source,
}

/// One operator applied to values.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) output: ValueId,
}

/// A frozen tensor: row-major elements with their dimensions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    pub(crate) dims: Vec<usize>,
    pub(crate) elements: Vec<f32>,
}

/// Values, the nodes that compute them in running order, and the frozen tensors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) parameters: Vec<ValueId>,
}

impl Graph {
    /// The shape of a value.
    pub(crate) fn shape(&self, id: ValueId) -> &Shape {
        &self.values[id.0].shape
    }

    /// Declares the features of a batch: a symbolic batch dimension, then `example_shape`.
    pub(crate) fn add_features(&mut self, example_shape: &[usize]) -> ValueId {
        self.add_value(Shape::batched(example_shape), Source::Features)
    }

    /// Declares the labels of a batch, of the given shape for each example.
    pub(crate) fn add_labels(&mut self, example_shape: &[usize]) -> ValueId {
        self.add_value(Shape::batched(example_shape), Source::Labels)
    }

    /// Declares the next trainable tensor.
    pub(crate) fn add_parameter(&mut self, dims: &[usize]) -> ValueId {
        let id = self.add_value(Shape::fixed(dims), Source::Parameter(self.parameters.len()));
        self.parameters.push(id);
        id
    }

    /// Adds a frozen tensor.
    pub(crate) fn add_constant(&mut self, constant: Constant) -> ValueId {
        let id = self.add_value(Shape::fixed(&constant.dims), Source::Constant(self.constants.len()));
        self.constants.push(constant);
        id
    }

    /// Appends a node and returns the value that it computes.
    ///
    /// # Errors
    /// Returns a [`ShapeError`] if the shapes of the inputs do not fit the operator.
    pub(crate) fn add_node(&mut self, op: Op, inputs: Vec<ValueId>) -> Result<ValueId, ShapeError> {
        let shapes: Vec<&Shape> = inputs.iter().map(|id| self.shape(*id)).collect();
        let shape = infer::output_shape(&op, &shapes)?;
        let output = self.add_value(shape, Source::Node);
        self.nodes.push(Node { op, inputs, output });
        Ok(output)
    }

    fn add_value(&mut self, shape: Shape, source: Source) -> ValueId {
        self.values.push(Value { shape, source });
        ValueId(self.values.len() - 1)
    }
}
