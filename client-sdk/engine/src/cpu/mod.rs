//! The CPU executor: runs a graph with candle-core's kernels.
//!
//! Results depend only on the inputs: every sum has a fixed order. The element type is `f32` in use and
//! `f64` where gradients are checked against finite differences.

mod in_place;
mod kernels;

use candle_core::{DType, Device, Tensor};

use crate::graph::{Constant, Graph, Node, Source, ValueId};

pub(crate) use in_place::update_in_place;

/// A kernel refused its inputs. Shapes were checked at import, so this is a defect or a lack of memory.
#[derive(Debug, thiserror::Error)]
#[error("a kernel failed: {0}")]
pub struct ExecuteError(String);

impl From<candle_core::Error> for ExecuteError {
    fn from(error: candle_core::Error) -> Self {
        Self(error.to_string())
    }
}

/// What a batch brings to a run: its features and, if the graph has labels, its labels.
pub(crate) struct Feeds {
    /// `[batch, …]`, in the executor's element type.
    pub(crate) features: Tensor,
    /// `u32` class numbers `[batch]`, or targets of the output's shape.
    pub(crate) labels: Option<Tensor>,
}

/// Runs the part of a graph that its requested outputs need.
pub(crate) struct Executor {
    graph: Graph,
    outputs: Vec<ValueId>,
    schedule: Vec<ScheduledNode>,
    constants: Vec<Tensor>,
}

/// A node, and the values that no later node reads: they are dropped after it.
struct ScheduledNode {
    node: Node,
    releases: Vec<ValueId>,
}

impl Executor {
    /// Plans the run: leaves out the nodes that no output needs and finds out when each value can go.
    ///
    /// # Errors
    /// Returns an [`ExecuteError`] if the frozen tensors cannot be allocated.
    pub(crate) fn new(
        mut graph: Graph,
        outputs: Vec<ValueId>,
        element_type: DType,
    ) -> Result<Self, ExecuteError> {
        let constants = std::mem::take(&mut graph.constants)
            .into_iter()
            .map(|Constant { dims, elements }| tensor(elements, &dims)?.to_dtype(element_type))
            .collect::<Result<_, _>>()?;
        let schedule = schedule(&graph, &outputs);
        Ok(Self { graph, outputs, schedule, constants })
    }

    /// Computes the outputs, in the order in which they were requested.
    ///
    /// `parameters` are the trainable tensors in schema order.
    ///
    /// # Errors
    /// Returns an [`ExecuteError`] if a kernel fails.
    pub(crate) fn run(&self, parameters: &[Tensor], feeds: &Feeds) -> Result<Vec<Tensor>, ExecuteError> {
        let batch = feeds.features.dim(0)?;
        let mut values = self.sources(parameters, feeds);
        for ScheduledNode { node, releases } in &self.schedule {
            let inputs = node.inputs.iter().map(|id| present(&values, *id)).collect::<Result<Vec<_>, _>>()?;
            let output = kernels::run(&node.op, &inputs, batch)?;
            values[node.output.0] = Some(output);
            for id in releases {
                values[id.0] = None;
            }
        }
        self.outputs.iter().map(|id| present(&values, *id).cloned()).collect()
    }

    /// Computes the only output, as row-major `f32` elements.
    ///
    /// # Errors
    /// Returns an [`ExecuteError`] if a kernel fails.
    pub(crate) fn run_to_vec(&self, parameters: &[Tensor], feeds: &Feeds) -> Result<Vec<f32>, ExecuteError> {
        let outputs = self.run(parameters, feeds)?;
        let [output] = &outputs[..] else {
            return Err(ExecuteError(format!("{} outputs where one was expected", outputs.len())));
        };
        elements(output)
    }

    fn sources(&self, parameters: &[Tensor], feeds: &Feeds) -> Vec<Option<Tensor>> {
        let values = self.graph.values.iter().map(|value| match value.source {
            Source::Features => Some(feeds.features.clone()),
            Source::Labels => feeds.labels.clone(),
            Source::Parameter(index) => parameters.get(index).cloned(),
            Source::Constant(index) => self.constants.get(index).cloned(),
            Source::Node => None,
        });
        values.collect()
    }
}

fn present(values: &[Option<Tensor>], id: ValueId) -> Result<&Tensor, ExecuteError> {
    values[id.0].as_ref().ok_or_else(|| ExecuteError(format!("value {} was not provided", id.0)))
}

/// The nodes that `outputs` need, each with the values that it is the last to read.
fn schedule(graph: &Graph, outputs: &[ValueId]) -> Vec<ScheduledNode> {
    let mut needed = vec![false; graph.values.len()];
    for id in outputs {
        needed[id.0] = true;
    }
    let mut read_later = needed.clone();
    let mut scheduled = Vec::new();
    for node in graph.nodes.iter().rev() {
        if !needed[node.output.0] {
            continue;
        }
        let mut releases = Vec::new();
        for input in &node.inputs {
            needed[input.0] = true;
            if !std::mem::replace(&mut read_later[input.0], true) {
                releases.push(*input);
            }
        }
        scheduled.push(ScheduledNode { node: node.clone(), releases });
    }
    scheduled.reverse();
    scheduled
}

/// A row-major tensor in the CPU's memory.
pub(crate) fn tensor<E: candle_core::WithDType>(
    elements: Vec<E>,
    dims: &[usize],
) -> Result<Tensor, candle_core::Error> {
    Tensor::from_vec(elements, dims, &Device::Cpu)
}

/// The elements of an `f32` tensor, row-major.
pub(crate) fn elements(tensor: &Tensor) -> Result<Vec<f32>, ExecuteError> {
    Ok(tensor.flatten_all()?.to_vec1()?)
}
