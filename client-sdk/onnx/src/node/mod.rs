//! The context for lowering one ONNX node: its inputs, their known values, and the graph to extend.

mod append;

use std::ops::RangeInclusive;

use super::ImportError;
use super::attributes::{Attributes, node_name, unsupported_use};
use super::budget::Budget;
use super::mode::Mode;
use super::proto::NodeProto;
use super::tensor::{Constant, ElementType, checked_volume};
use folkmoot_graph::{Graph, ValueId};

/// A named value and its element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) value: ValueId,
    pub(super) element_type: ElementType,
}

/// The result of lowering a node: one tensor for each output of the operator. The node may name fewer.
pub(super) type Outputs = Result<Vec<Tensor>, ImportError>;

/// The context for lowering one ONNX node.
pub(super) struct NodeLowering<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) updates: &'a mut Vec<(usize, ValueId)>,
    pub(super) proto: &'a NodeProto,
    /// The inputs, without omitted ones at the end.
    pub(super) inputs: Vec<Option<Tensor>>,
    pub(super) budget: &'a mut Budget,
    pub(super) opset: i64,
    pub(super) mode: Mode,
    /// `true` for each frozen parameter. A parameter without an entry is not frozen.
    pub(super) frozen: &'a [bool],
}

impl<'a> NodeLowering<'a> {
    /// Creates an error with the unsupported part of the node as its reason.
    pub(super) fn refuse(&self, reason: &str) -> ImportError {
        unsupported_use(self.proto, reason)
    }

    /// Returns the attributes, after checking that all are known.
    pub(super) fn attributes(&self, known: &[&str]) -> Result<Attributes<'a>, ImportError> {
        Attributes::new(self.proto, known)
    }

    /// Checks the number of inputs.
    pub(super) fn expect_inputs(&self, count: RangeInclusive<usize>) -> Result<(), ImportError> {
        if count.contains(&self.inputs.len()) {
            return Ok(());
        }
        let needed = match (count.start(), count.end()) {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Err(self.refuse(&format!("has {} inputs; it must have {needed}", self.inputs.len())))
    }

    /// Returns a required input.
    pub(super) fn input(&self, position: usize) -> Result<Tensor, ImportError> {
        self.optional(position).ok_or_else(|| self.refuse(&format!("lacks input {position}")))
    }

    /// Returns an optional input, or `None` if it is omitted.
    pub(super) fn optional(&self, position: usize) -> Option<Tensor> {
        self.inputs.get(position).copied().flatten()
    }

    /// Returns the value of a required input.
    pub(super) fn value(&self, position: usize) -> Result<ValueId, ImportError> {
        Ok(self.input(position)?.value)
    }

    /// Returns whether the node names its output at a position.
    pub(super) fn names_output(&self, position: usize) -> bool {
        self.proto.output.get(position).is_some_and(|name| !name.is_empty())
    }

    /// Returns the dimensions of a value.
    pub(super) fn shape(&self, value: ValueId) -> Vec<usize> {
        self.graph.shape(value).to_vec()
    }

    /// Returns the elements of an optional input. They must be constant.
    pub(super) fn known_numbers(&self, position: usize) -> Result<Option<&[f64]>, ImportError> {
        let Some(tensor) = self.optional(position) else { return Ok(None) };
        match self.graph.constant(tensor.value) {
            Some(elements) => Ok(Some(elements)),
            None => {
                let name = &self.proto.input[position];
                Err(self.refuse(&format!(
                    "reads {name}, which must be known when the model is imported; make it a constant"
                )))
            }
        }
    }

    /// Returns the integers of an optional input. They must be constant.
    pub(super) fn known_integers(&self, position: usize) -> Result<Option<Vec<i64>>, ImportError> {
        let numbers = self.known_numbers(position)?;
        Ok(numbers.map(|numbers| numbers.iter().map(|number| *number as i64).collect()))
    }

    /// Returns the integers of an attribute or, in newer opsets, of the input at a position.
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

    /// Returns the only element of an optional input. It must be constant.
    pub(super) fn known_number(&self, position: usize) -> Result<Option<f64>, ImportError> {
        match self.known_numbers(position)? {
            None => Ok(None),
            Some([number]) => Ok(Some(*number)),
            Some(numbers) => {
                let name = &self.proto.input[position];
                Err(self.refuse(&format!("reads {name} with {} elements; it must have one", numbers.len())))
            }
        }
    }

    /// Resolves an axis of a tensor of this rank; a negative axis counts from the end.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize, ImportError> {
        let from_the_end = if axis < 0 { rank as i64 } else { 0 };
        let found = usize::try_from(axis.saturating_add(from_the_end)).ok().filter(|found| *found < rank);
        found.ok_or_else(|| self.refuse(&format!("has axis {axis}, but the tensor has {rank} dimensions")))
    }

    /// Resolves the axes of a tensor and sorts them. An axis must not repeat.
    pub(super) fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, ImportError> {
        let mut found: Vec<usize> =
            axes.iter().map(|axis| self.axis(*axis, rank)).collect::<Result<_, _>>()?;
        found.sort_unstable();
        if found.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.refuse("lists an axis twice"));
        }
        Ok(found)
    }

    /// Checks that a result of this shape is within the limit, and returns its number of elements.
    pub(super) fn fits(&self, shape: &[usize]) -> Result<usize, ImportError> {
        let name = format!("the result of node {}", node_name(self.proto));
        Ok(checked_volume(&name, shape, &self.budget.limits)?)
    }

    /// Checks the graph against the limits. Nodes that expand to many operators call this repeatedly while they expand.
    pub(super) fn check_graph(&mut self) -> Result<(), ImportError> {
        self.budget.check(self.graph)
    }

    /// Adds a tensor without elements, which is always constant.
    pub(super) fn empty(&mut self, shape: &[usize]) -> ValueId {
        self.graph.add_constant(shape, Vec::new())
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, constant: Constant) -> Tensor {
        let value = self.graph.add_constant(&constant.shape, constant.elements);
        Tensor { value, element_type: constant.element_type }
    }
}

impl Tensor {
    /// Wraps a value as a tensor of real numbers.
    pub(super) fn float(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Float }
    }

    /// Wraps a value as a tensor of integers.
    pub(super) fn integer(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Integer }
    }

    /// Wraps a value as a tensor of booleans (0 and 1).
    pub(super) fn boolean(value: ValueId) -> Self {
        Self { value, element_type: ElementType::Boolean }
    }

    /// Wraps another value with the same element type.
    pub(super) fn with(self, value: ValueId) -> Self {
        Self { value, ..self }
    }
}
