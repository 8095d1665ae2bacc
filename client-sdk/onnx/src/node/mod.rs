//! One ONNX node while it is lowered: its inputs, what is known of them, and the graph that it is added to.

mod append;

use std::ops::RangeInclusive;

use super::ImportError;
use super::attributes::{Attributes, node_name, unsupported_use};
use super::budget::Budget;
use super::mode::Mode;
use super::proto::NodeProto;
use super::tensor::{Constant, ElementType, checked_volume};
use folkmoot_graph::{Graph, ValueId};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) value: ValueId,
    pub(super) element_type: ElementType,
}

/// What a node becomes: a tensor for each of its outputs, of which it may name fewer.
pub(super) type Outputs = Result<Vec<Tensor>, ImportError>;

/// See the module.
pub(super) struct NodeLowering<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) updates: &'a mut Vec<(usize, ValueId)>,
    pub(super) proto: &'a NodeProto,
    /// Without those that are left out at the end.
    pub(super) inputs: Vec<Option<Tensor>>,
    pub(super) budget: &'a mut Budget,
    pub(super) opset: i64,
    pub(super) mode: Mode,
}

impl<'a> NodeLowering<'a> {
    /// An error that says what about the node is not supported.
    pub(super) fn refuse(&self, reason: &str) -> ImportError {
        unsupported_use(self.proto, reason)
    }

    /// The attributes, none of which is unknown.
    pub(super) fn attributes(&self, known: &[&str]) -> Result<Attributes<'a>, ImportError> {
        Attributes::new(self.proto, known)
    }

    /// Checks the number of inputs.
    pub(super) fn expect_inputs(&self, count: RangeInclusive<usize>) -> Result<(), ImportError> {
        if count.contains(&self.inputs.len()) {
            return Ok(());
        }
        Err(self.refuse(&format!("has {} inputs", self.inputs.len())))
    }

    /// The input at a position, which must be there.
    pub(super) fn input(&self, position: usize) -> Result<Tensor, ImportError> {
        self.optional(position).ok_or_else(|| self.refuse(&format!("lacks input {position}")))
    }

    /// The input at a position, if it is not left out.
    pub(super) fn optional(&self, position: usize) -> Option<Tensor> {
        self.inputs.get(position).copied().flatten()
    }

    /// The value of the input at a position, which must be there.
    pub(super) fn value(&self, position: usize) -> Result<ValueId, ImportError> {
        Ok(self.input(position)?.value)
    }

    /// Whether the node names its output at a position.
    pub(super) fn names_output(&self, position: usize) -> bool {
        self.proto.output.get(position).is_some_and(|name| !name.is_empty())
    }

    /// The dimensions of a value.
    pub(super) fn shape(&self, value: ValueId) -> Vec<usize> {
        self.graph.shape(value).to_vec()
    }

    /// The elements of the input at a position, if it is not left out. They must be known now.
    pub(super) fn known_numbers(&self, position: usize) -> Result<Option<&[f64]>, ImportError> {
        let Some(tensor) = self.optional(position) else { return Ok(None) };
        match self.graph.constant(tensor.value) {
            Some(elements) => Ok(Some(elements)),
            None => {
                let name = &self.proto.input[position];
                Err(self.refuse(&format!("reads {name}, which must be known when the model is imported")))
            }
        }
    }

    /// The integers of the input at a position, if it is not left out. They must be known now.
    pub(super) fn known_integers(&self, position: usize) -> Result<Option<Vec<i64>>, ImportError> {
        let numbers = self.known_numbers(position)?;
        Ok(numbers.map(|numbers| numbers.iter().map(|number| *number as i64).collect()))
    }

    /// The integers of an attribute or, in files of newer operator sets, of the input at a position.
    pub(super) fn integers(
        &self,
        attributes: &Attributes<'_>,
        name: &str,
        position: usize,
    ) -> Result<Option<Vec<i64>>, ImportError> {
        match attributes.integers(name)? {
            Some(integers) => Ok(Some(integers.to_vec())),
            None => self.known_integers(position),
        }
    }

    /// The only element of the input at a position, if it is not left out. It must be known now.
    pub(super) fn known_number(&self, position: usize) -> Result<Option<f64>, ImportError> {
        match self.known_numbers(position)? {
            None => Ok(None),
            Some([number]) => Ok(Some(*number)),
            Some(numbers) => {
                let name = &self.proto.input[position];
                Err(self.refuse(&format!("reads {name} with {} elements instead of one", numbers.len())))
            }
        }
    }

    /// An axis of a tensor of so many dimensions; below 0 it counts from the end.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize, ImportError> {
        let from_the_end = if axis < 0 { rank as i64 } else { 0 };
        let found = usize::try_from(axis.saturating_add(from_the_end)).ok().filter(|found| *found < rank);
        found.ok_or_else(|| self.refuse(&format!("has axis {axis}, the tensor has {rank} dimensions")))
    }

    /// Axes of a tensor, ascending; none is there twice.
    pub(super) fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, ImportError> {
        let mut found: Vec<usize> =
            axes.iter().map(|axis| self.axis(*axis, rank)).collect::<Result<_, _>>()?;
        found.sort_unstable();
        if found.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.refuse("has one axis twice"));
        }
        Ok(found)
    }

    /// Checks that a result of this shape is within the limit.
    pub(super) fn fits(&self, shape: &[usize]) -> Result<usize, ImportError> {
        let name = format!("the result of node {}", node_name(self.proto));
        checked_volume(&name, shape, &self.budget.limits)
    }

    /// Checks what the graph has become. Nodes that become many operations call it between them.
    pub(super) fn check_graph(&mut self) -> Result<(), ImportError> {
        self.budget.check(self.graph)
    }

    /// A tensor without elements, which is known whatever it is made of.
    pub(super) fn empty(&mut self, shape: &[usize]) -> ValueId {
        self.graph.add_constant(shape, Vec::new())
    }

    /// Adds a frozen tensor.
    pub(super) fn constant(&mut self, constant: Constant) -> Tensor {
        let value = self.graph.add_constant(&constant.shape, constant.elements);
        Tensor { value, element_type: constant.element_type }
    }
}

impl Tensor {
    /// A tensor of real numbers.
    pub(super) fn float(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Float }
    }

    /// A tensor of whole numbers.
    pub(super) fn integer(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Integer }
    }

    /// A tensor of 0 and 1.
    pub(super) fn boolean(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Boolean }
    }

    /// Another value of the same type.
    pub(super) fn with(self, value: ValueId) -> Self {
        Self { value, ..self }
    }
}
