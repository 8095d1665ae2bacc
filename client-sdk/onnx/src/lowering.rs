//! Lowers a decoded model to a graph for one batch size: first the inputs and initializers, then one node after
//! another.

#[cfg(feature = "complete")]
mod control_flow;

use std::collections::BTreeMap;

use super::attributes::{node_name, operator_name, unsupported_use};
use super::budget::Budget;
use super::decode::Decoded;
use super::initializer::{Content, Initializer};
use super::limits::RANK_MAX;
use super::mode::Mode;
use super::node::{NodeLowering, Tensor};
use super::operators::{self, Operator};
use super::proto::NodeProto;
use super::tensor::{Constant, ElementType, checked_volume};
use super::{ImportError, ImportLimits};
use folkmoot_graph::op::volume;
use folkmoot_graph::{Graph, ValueId};

/// A model lowered for one batch size.
pub struct Lowered {
    /// The graph. Its input 0 is the features `[batch, …]`.
    pub graph: Graph,
    /// The model's output, `[batch, …]`.
    pub output: ValueId,
    /// The value inside of the graph that was asked for, if one was.
    pub inner: Option<ValueId>,
    /// The new values of running statistics, by parameter index; empty in inference.
    pub updates: Vec<(usize, ValueId)>,
}

/// The graph under construction and the names known so far.
pub(super) struct Lowering<'a> {
    pub(super) graph: Graph,
    pub(super) updates: Vec<(usize, ValueId)>,
    names: BTreeMap<&'a str, Tensor>,
    budget: Budget,
    opset: i64,
    mode: Mode,
    /// `true` for each frozen parameter. A parameter without an entry is not frozen.
    frozen: &'a [bool],
    /// The number of branches and bodies of loops around the current node.
    depth: usize,
    /// The names that branches and bodies define, each with the tensor that it named outside.
    inner: Vec<(&'a str, Option<Tensor>)>,
}

impl<'a> Lowering<'a> {
    pub(super) fn new(opset: i64, limits: &ImportLimits, mode: Mode, frozen: &'a [bool]) -> Self {
        let (graph, updates, names, inner) = (Graph::default(), Vec::new(), BTreeMap::new(), Vec::new());
        let budget = Budget::new(limits);
        Self { graph, updates, names, budget, opset, mode, frozen, depth: 0, inner }
    }

    /// Adds the features, or another input that each run supplies.
    pub(super) fn add_input(
        &mut self,
        name: &'a str,
        shape: &[usize],
        element_type: ElementType,
    ) -> Result<ValueId, ImportError> {
        checked_volume(name, shape, &self.budget.limits)?;
        let value = self.graph.add_input(shape);
        self.names.insert(name, Tensor { value, element_type });
        Ok(value)
    }

    /// Adds the one value that holds the features of a model with several inputs. The value has no name in the file.
    pub(super) fn add_features(&mut self, shape: &[usize]) -> Result<ValueId, ImportError> {
        checked_volume("the input", shape, &self.budget.limits)?;
        Ok(self.graph.add_input(shape))
    }

    /// Names a value of the graph as one of several inputs.
    pub(super) fn name_input(&mut self, name: &'a str, value: ValueId, element_type: ElementType) {
        self.names.insert(name, Tensor { value, element_type });
    }

    /// Adds a constant tensor.
    pub(super) fn add_constant(&mut self, name: &'a str, constant: &Constant) -> Result<(), ImportError> {
        let value = self.graph.add_constant(&constant.shape, constant.elements.clone());
        self.name(name, Tensor { value, element_type: constant.element_type });
        self.budget.check(&self.graph)
    }

    /// Adds the initializers and then every node.
    pub(super) fn add_model(&mut self, model: &'a Decoded) -> Result<(), ImportError> {
        let mut parameters = 0;
        for Initializer { name, shape, content } in &model.initializers {
            match content {
                Content::Frozen(constant) => self.add_constant(name, constant)?,
                Content::Trained(..) => {
                    let value = self.graph.add_parameter(parameters, shape);
                    self.names.insert(name, Tensor { value, element_type: ElementType::Float });
                    parameters += 1;
                }
            }
        }
        model.nodes.iter().try_for_each(|node| self.add_node(node))
    }

    /// Returns the tensor with this name.
    pub(super) fn tensor(&self, name: &str) -> Option<Tensor> {
        self.names.get(name).copied()
    }

    /// Names a tensor, until the end of the branch or the step of a loop if it is in one.
    fn name(&mut self, name: &'a str, tensor: Tensor) {
        let before = self.names.insert(name, tensor);
        if self.depth > 0 {
            self.inner.push((name, before));
        }
    }

    fn add_node(&mut self, node: &'a NodeProto) -> Result<(), ImportError> {
        let operator = operators::find(node).ok_or_else(|| ImportError::UnsupportedOperator {
            node: node_name(node),
            operator: operator_name(node),
        })?;
        let inputs = self.inputs(node, operator)?;
        #[cfg(feature = "complete")]
        if let Some(outputs) = self.add_graphs(node, &inputs)? {
            return self.bind(node, &outputs);
        }
        let outputs = (operator.lower)(&mut self.at(node, inputs))?;
        self.budget.check(&self.graph)?;
        self.bind(node, &outputs)
    }

    /// Returns the context for lowering a node with these inputs.
    fn at<'b>(&'b mut self, proto: &'b NodeProto, inputs: Vec<Option<Tensor>>) -> NodeLowering<'b> {
        NodeLowering {
            graph: &mut self.graph,
            updates: &mut self.updates,
            proto,
            inputs,
            budget: &mut self.budget,
            opset: self.opset,
            mode: self.mode,
            frozen: self.frozen,
        }
    }

    fn inputs(&self, node: &NodeProto, operator: &Operator) -> Result<Vec<Option<Tensor>>, ImportError> {
        // ONNX omits optional inputs at the end by giving them empty names.
        let count = node.input.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
        let input = |(position, name): (usize, &String)| match self.tensor(name) {
            None if name.is_empty() => Ok(None),
            None => Err(ImportError::MissingValue {
                reader: format!("node {}", node_name(node)),
                value: name.clone(),
            }),
            Some(tensor) if self.is_empty(tensor) && !operator.reads_empty(position) => {
                Err(unsupported_use(node, &format!("reads {name}, which is empty")))
            }
            Some(tensor) => Ok(Some(tensor)),
        };
        node.input[..count].iter().enumerate().map(input).collect()
    }

    fn bind(&mut self, node: &'a NodeProto, outputs: &[Tensor]) -> Result<(), ImportError> {
        if node.output.iter().skip(outputs.len()).any(|name| !name.is_empty()) {
            return Err(unsupported_use(node, &format!("has {} outputs", node.output.len())));
        }
        for (name, tensor) in node.output.iter().zip(outputs) {
            self.check_result(node, *tensor)?;
            if !name.is_empty() {
                self.name(name, *tensor);
            }
        }
        Ok(())
    }

    fn check_result(&self, node: &NodeProto, tensor: Tensor) -> Result<(), ImportError> {
        let shape = self.graph.shape(tensor.value);
        if shape.len() > RANK_MAX {
            let reason =
                format!("computes a tensor with {} dimensions; the limit is {RANK_MAX}", shape.len());
            return Err(unsupported_use(node, &reason));
        }
        checked_volume(&format!("the result of node {}", node_name(node)), shape, &self.budget.limits)?;
        if self.is_empty(tensor) && self.graph.constant(tensor.value).is_none() {
            return Err(unsupported_use(node, "computes an empty tensor"));
        }
        Ok(())
    }

    fn is_empty(&self, tensor: Tensor) -> bool {
        volume(self.graph.shape(tensor.value)) == 0
    }
}
