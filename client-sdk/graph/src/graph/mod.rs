//! The typed graph: sources, and nodes in running order, all of known shape.
//!
//! A graph is made for one batch size. What ONNX leaves free is known when training begins, so shape arithmetic
//! folds to constants, and neither the gradient builder nor an executor meets an unknown size.

mod build;
mod fold;

use crate::op::{Op, volume};

/// A value of a graph: the position in [`Graph::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// What a batch brings: features, labels.
    Input(usize),
    /// A tensor of the weights, by its position in the schema.
    Parameter(usize),
    /// A frozen tensor: the position in [`Graph::constants`].
    Constant(usize),
    /// The output of the node at this position.
    Node(usize),
}

/// A tensor of the graph. Elements are numbers; whether they stand for integers or truth is the importer's to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// Where it comes from.
    pub source: Source,
}

/// An operation, its inputs and its only output.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// What it reads, in the order that the operation says.
    pub inputs: Vec<ValueId>,
    /// The value that it makes.
    pub output: ValueId,
}

/// Sources and nodes; every node reads only what comes before it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Every tensor, by its [`ValueId`].
    pub values: Vec<Value>,
    /// In running order.
    pub nodes: Vec<Node>,
    /// The elements of frozen tensors, row-major.
    pub constants: Vec<Vec<f64>>,
}

impl Graph {
    /// Adds what a batch brings. Inputs are numbered in the order in which they are added.
    pub fn add_input(&mut self, shape: &[usize]) -> ValueId {
        let inputs = self.values.iter().filter(|value| matches!(value.source, Source::Input(_))).count();
        self.add_value(shape.to_vec(), Source::Input(inputs))
    }

    /// Adds a tensor of the weights.
    pub fn add_parameter(&mut self, index: usize, shape: &[usize]) -> ValueId {
        self.add_value(shape.to_vec(), Source::Parameter(index))
    }

    /// Adds a frozen tensor; there are as many elements as the shape says.
    pub fn add_constant(&mut self, shape: &[usize], elements: Vec<f64>) -> ValueId {
        debug_assert_eq!(volume(shape), elements.len());
        self.constants.push(elements);
        self.add_value(shape.to_vec(), Source::Constant(self.constants.len() - 1))
    }

    /// Adds a frozen number.
    pub fn add_scalar(&mut self, number: f64) -> ValueId {
        self.add_constant(&[], vec![number])
    }

    /// The dimensions of a value.
    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.values[id.0].shape
    }

    /// The elements of a value that is frozen.
    pub fn constant(&self, id: ValueId) -> Option<&[f64]> {
        match self.values[id.0].source {
            Source::Constant(index) => Some(&self.constants[index]),
            _ => None,
        }
    }

    /// The only element of a value that is frozen.
    pub fn scalar(&self, id: ValueId) -> Option<f64> {
        match self.constant(id) {
            Some([number]) => Some(*number),
            _ => None,
        }
    }

    fn add_value(&mut self, shape: Vec<usize>, source: Source) -> ValueId {
        self.values.push(Value { shape, source });
        ValueId(self.values.len() - 1)
    }
}
