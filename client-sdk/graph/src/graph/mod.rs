//! The typed graph: sources, and nodes in execution order, all of known shape.
//!
//! A graph is built for one batch size. Every dimension that ONNX leaves symbolic is known when training begins, so
//! shape arithmetic folds to constants. Neither autodiff nor an executor meets an unknown size.

mod build;
mod fold;

use crate::op::{Op, volume};

/// The identifier of a value in a graph: an index into [`Graph::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Data of a batch: features or labels.
    Input(usize),
    /// A tensor of the weights, by its position in the schema.
    Parameter(usize),
    /// A constant tensor: an index into [`Graph::constants`].
    Constant(usize),
    /// The output of the node at this position.
    Node(usize),
}

/// A tensor of the graph. Elements are plain numbers; only the importer knows whether they stand for integers or
/// booleans.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// The origin of the elements.
    pub source: Source,
}

/// An operator, its inputs and its only output.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The operator.
    pub op: Op,
    /// The inputs, in the order that the operator defines.
    pub inputs: Vec<ValueId>,
    /// The value that the node computes.
    pub output: ValueId,
}

/// Sources and nodes; every node reads only values that come before it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Every tensor, by its [`ValueId`].
    pub values: Vec<Value>,
    /// The nodes in execution order.
    pub nodes: Vec<Node>,
    /// The elements of constant tensors, row-major.
    pub constants: Vec<Vec<f64>>,
}

impl Graph {
    /// Adds an input that each batch supplies. Inputs are numbered in the order in which they are added.
    pub fn add_input(&mut self, shape: &[usize]) -> ValueId {
        let inputs = self.values.iter().filter(|value| matches!(value.source, Source::Input(_))).count();
        self.add_value(shape.to_vec(), Source::Input(inputs))
    }

    /// Adds a tensor of the weights.
    pub fn add_parameter(&mut self, index: usize, shape: &[usize]) -> ValueId {
        self.add_value(shape.to_vec(), Source::Parameter(index))
    }

    /// Adds a constant tensor; `elements` must match the shape.
    pub fn add_constant(&mut self, shape: &[usize], elements: Vec<f64>) -> ValueId {
        debug_assert_eq!(volume(shape), elements.len());
        self.constants.push(elements);
        self.add_value(shape.to_vec(), Source::Constant(self.constants.len() - 1))
    }

    /// Adds a constant scalar.
    pub fn add_scalar(&mut self, number: f64) -> ValueId {
        self.add_constant(&[], vec![number])
    }

    /// Returns the dimensions of a value.
    pub fn shape(&self, id: ValueId) -> &[usize] {
        &self.values[id.0].shape
    }

    /// Returns the elements of a value if it is constant.
    pub fn constant(&self, id: ValueId) -> Option<&[f64]> {
        match self.values[id.0].source {
            Source::Constant(index) => Some(&self.constants[index]),
            _ => None,
        }
    }

    /// Returns the only element of a value if it is constant and has one element.
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
