//! Runs any imported graph once, for conformance tests and inspection.
//!
//! Unlike [`crate::ModelFile`], a network may have any number of inputs and outputs of any plain numeric type, and no
//! trainable tensors. It computes in double precision.

mod gradient;

use std::collections::BTreeSet;

use prost::Message;
use prost::bytes::Bytes;

use super::attributes::operator_name;
use super::decode::{Decoded, Floats, decode};
use super::lowering::Lowering;
use super::mode::Mode;
use super::operators::names_of_settings;
use super::proto::{TensorProto, ValueInfoProto};
use super::tensor::{self, Constant, ElementType};
use super::{FileError, ImportError, ImportLimits};
use folkmoot_graph::program::{ExecuteError, Program};
use folkmoot_graph::{Graph, Source, ValueId};

/// An input or output tensor of a network. Booleans are 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkTensor {
    /// The dimensions, outermost first; none for a scalar.
    pub shape: Vec<usize>,
    /// The elements, row-major.
    pub elements: Vec<f64>,
}

/// Why a network could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The network cannot be imported for inputs of these shapes.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The executor failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The given inputs do not match the network's inputs.
    #[error("input {position}: {reason}")]
    Input {
        /// The position of the input.
        position: usize,
        /// The mismatch.
        reason: String,
    },
}

/// A graph that can be run once for inputs of any shape.
pub struct Network {
    model: Decoded,
    limits: ImportLimits,
}

impl Network {
    /// Reads a network. Operators are checked only in [`Network::run`], when the shapes are known.
    ///
    /// # Errors
    /// Returns an [`ImportError`] if the bytes are not an ONNX model or exceed a limit.
    pub fn from_onnx(bytes: &[u8], limits: &ImportLimits) -> Result<Self, ImportError> {
        let model = decode(&Bytes::copy_from_slice(bytes), limits, Floats::Frozen)?;
        Ok(Self { model, limits: limits.clone() })
    }

    /// Returns the operators in the network, each once.
    pub fn operators(&self) -> BTreeSet<String> {
        self.model.nodes.iter().map(operator_name).collect()
    }

    /// Computes the named outputs. Some inputs become constants: those that must be known at import, those with
    /// integers, and single numbers. The executor gets all other inputs.
    ///
    /// # Errors
    /// Returns a [`NetworkError`] if an operator is not supported, the inputs do not match, or memory runs out.
    pub fn run(&self, inputs: &[NetworkTensor]) -> Result<Vec<NetworkTensor>, NetworkError> {
        let Lowered { graph, outputs, fed } = self.lower(inputs)?;
        Ok(execute(&graph, &outputs, &fed)?)
    }

    /// Checks the gradient of a weighted sum of the outputs, with respect to all inputs that are not constants.
    /// Compares it with central differences along random directions.
    ///
    /// Returns the largest difference, relative to the derivative or to 1, whichever is larger; `None` if no output has
    /// a gradient with respect to an input.
    ///
    /// # Errors
    /// Returns the errors of [`Network::run`].
    pub fn gradient_difference(
        &self,
        inputs: &[NetworkTensor],
        seed: u64,
    ) -> Result<Option<f64>, NetworkError> {
        let Lowered { graph, outputs, fed } = self.lower(inputs)?;
        Ok(gradient::difference(graph, &outputs, &fed, seed)?)
    }

    /// Lowers the network for these inputs.
    fn lower<'a>(&self, inputs: &'a [NetworkTensor]) -> Result<Lowered<'a>, NetworkError> {
        let mut lowering = Lowering::new(self.model.opset, &self.limits, Mode::AsWritten, &[]);
        let settings = names_of_settings(&self.model.nodes);
        let mut fed: Vec<&[f64]> = Vec::new();
        if inputs.len() != self.model.inputs.len() {
            let reason = format!("got {} inputs; the network has {}", inputs.len(), self.model.inputs.len());
            return Err(NetworkError::Input { position: inputs.len(), reason });
        }
        for (position, (info, input)) in self.model.inputs.iter().zip(inputs).enumerate() {
            let element_type = element_type(info).ok_or_else(|| NetworkError::Input {
                position,
                reason: "is not a tensor of numbers".into(),
            })?;
            let expected =
                tensor::checked_volume(&info.name, &input.shape, &self.limits).map_err(ImportError::from)?;
            if expected != input.elements.len() {
                let reason = format!("has {} elements; its shape needs {expected}", input.elements.len());
                return Err(NetworkError::Input { position, reason });
            }
            let is_frozen = element_type != ElementType::Float
                || input.elements.len() <= 1
                || settings.contains(info.name.as_str());
            if is_frozen {
                let (shape, elements) = (input.shape.clone(), input.elements.clone());
                lowering.add_constant(&info.name, &Constant { shape, elements, element_type })?;
            } else {
                lowering.add_input(&info.name, &input.shape, element_type)?;
                fed.push(&input.elements);
            }
        }
        lowering.add_model(&self.model)?;
        let names = self.model.outputs.iter().filter(|name| !name.is_empty());
        let outputs: Vec<ValueId> =
            names.filter_map(|name| lowering.tensor(name)).map(|tensor| tensor.value).collect();
        Ok(Lowered { graph: lowering.graph, outputs, fed })
    }
}

/// A network lowered for inputs of known shapes.
struct Lowered<'a> {
    graph: Graph,
    outputs: Vec<ValueId>,
    /// The elements of the graph's inputs, in order.
    fed: Vec<&'a [f64]>,
}

fn element_type(info: &ValueInfoProto) -> Option<ElementType> {
    ElementType::of(info.r#type.as_ref()?.tensor_type.as_ref()?.elem_type)
}

/// Runs a graph without weights. Constant outputs are not computed again.
fn execute(graph: &Graph, outputs: &[ValueId], fed: &[&[f64]]) -> Result<Vec<NetworkTensor>, ExecuteError> {
    let is_computed = |output: &ValueId| matches!(graph.values[output.0].source, Source::Node(_));
    let computed: Vec<ValueId> = outputs.iter().copied().filter(is_computed).collect();
    let mut program = Program::<f64>::compile(graph, &computed, &[])?;
    program.run(&[], fed, 0);
    let mut position = 0;
    let mut tensors = Vec::new();
    for output in outputs {
        let elements = match graph.values[output.0].source {
            Source::Constant(index) => graph.constants[index].clone(),
            Source::Input(index) => fed[index].to_vec(),
            Source::Parameter(_) | Source::Node(_) => {
                position += 1;
                program.output(position - 1).to_vec()
            }
        };
        tensors.push(NetworkTensor { shape: graph.shape(*output).to_vec(), elements });
    }
    Ok(tensors)
}

/// Decodes a `TensorProto` of any plain numeric type, for example the ONNX project's test data.
///
/// # Errors
/// Returns an [`ImportError`] if the bytes are not a tensor, or have another element type.
pub fn decode_tensor(bytes: &[u8]) -> Result<NetworkTensor, ImportError> {
    let proto = TensorProto::decode(Bytes::copy_from_slice(bytes))
        .map_err(|error| ImportError::File(FileError::Malformed { reason: error.to_string() }))?;
    let Constant { shape, elements, .. } = tensor::any_constant(&proto, &ImportLimits::default())?;
    Ok(NetworkTensor { shape, elements })
}
