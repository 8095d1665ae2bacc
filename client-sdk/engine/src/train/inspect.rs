//! Computes the cost of training a model under a plan, without running a step.

use std::collections::{BTreeMap, BTreeSet};

use folkmoot_graph::program::Program;
use folkmoot_onnx::{Mode, ModelInput, ParameterKind, ParameterSpec, Remark};
use folkmoot_protocol::TrainingPlan;
use serde::Serialize;

use super::TrainError;
use super::batches::full_batch;
use crate::model::Model;
use crate::processor::{BatchProgram, BatchSource, optimizer_rule};
use crate::step::{Parameters, Role, StepSource};

/// A model under a plan: its tensors, its operators, and the cost of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// The inputs in the order of the file. Several inputs are columns of the features in this order.
    pub inputs: Vec<InspectedInput>,
    /// The dimensions of one example's features.
    pub input_shape: Vec<usize>,
    /// The name of the output that the plan trains.
    pub output: String,
    /// The dimensions of this output for one example.
    pub output_shape: Vec<usize>,
    /// The names of all outputs, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The ONNX operators of the file, with the number of nodes for each.
    pub operators: BTreeMap<String, usize>,
    /// The tensors of the weights, in schema order.
    pub parameters: Vec<InspectedParameter>,
    /// The number of elements that this plan trains, without running statistics.
    pub trained_elements: usize,
    /// The decisions about the file's tensors that its author may not expect.
    pub remarks: Vec<InspectedRemark>,
    /// The number of examples in a step.
    pub batch_size: usize,
    /// The cost of the forward pass alone.
    pub forward: Cost,
    /// The cost of the forward pass, the loss and all gradients; twice that with sharpness-aware minimisation, and
    /// that of all gradients that a step of Newton's method or Sophia may compute. A contrast with other models is not counted.
    pub step: Cost,
    /// The memory of a training run with this plan, in bytes.
    pub memory: StepMemory,
}

/// An input of the model.
#[derive(Debug, Clone, Serialize)]
pub struct InspectedInput {
    /// The input's name.
    pub name: String,
    /// The dimensions for one example.
    pub shape: Vec<usize>,
    /// The index in `shape` of the dimension that is the length of sequences, if the file leaves the length free. Each
    /// client's examples determine the length; `shape` contains a sample value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length_axis: Option<usize>,
}

/// One tensor of the weights.
#[derive(Debug, Clone, Serialize)]
pub struct InspectedParameter {
    /// The initializer's name.
    pub name: String,
    /// The tensor's dimensions.
    pub shape: Vec<usize>,
    /// `trained`, `statistic`, `frozen`, or `constant`, which is a single number that is not trained by default.
    pub role: &'static str,
}

/// Something about a tensor of the file that its author may not expect.
#[derive(Debug, Clone, Serialize)]
pub struct InspectedRemark {
    /// A word for programs, for example `separated`.
    pub kind: &'static str,
    /// The tensor's name.
    pub tensor: String,
    /// A sentence that describes what the engine does and how to change it.
    pub text: String,
}

impl From<&ModelInput> for InspectedInput {
    fn from(input: &ModelInput) -> Self {
        Self { name: input.name.clone(), shape: input.shape.clone(), length_axis: input.length_axis }
    }
}

impl From<&Remark> for InspectedRemark {
    fn from(remark: &Remark) -> Self {
        Self { kind: remark.kind(), tensor: remark.tensor().to_owned(), text: remark.to_string() }
    }
}

/// The computations of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The number of floating-point operations.
    pub flops: u64,
    /// The number of kernels by kind, after fusion.
    pub kernels: BTreeMap<&'static str, usize>,
}

/// The memory of a training run by purpose, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepMemory {
    /// The trained weights, the starting weights, and the copy of sharpness-aware minimisation.
    pub weights: usize,
    /// The gradients, their sum if a step accumulates them, and the outputs.
    pub gradients: usize,
    /// The optimizer's state.
    pub optimizer_state: usize,
    /// The maximum total size of the activations and gradients that are needed at the same time.
    pub live_activations: usize,
    /// The size of the arena that holds the activations and their gradients.
    pub arena: usize,
    /// The size of the kernels' and the optimizer's workspace, the constants, and the batch's features and labels.
    pub working: usize,
}

impl StepMemory {
    /// Returns all memory that a step holds, in bytes.
    pub fn total(&self) -> usize {
        self.weights + self.gradients + self.optimizer_state + self.arena + self.working
    }

    /// Returns a lower bound for the memory of a step, in bytes: no memory layout can need less.
    pub fn indispensable(&self) -> usize {
        self.weights + self.gradients + self.optimizer_state + self.live_activations
    }
}

impl Inspection {
    /// Compiles a model under a plan and computes the cost for a full batch of the plan.
    ///
    /// # Errors
    /// Returns a [`TrainError`] if the plan is invalid, the model's output does not match the loss, or a step cannot be
    /// compiled.
    pub fn new(model: &Model, plan: &TrainingPlan) -> Result<Self, TrainError> {
        Self::for_examples(model, plan, usize::MAX)
    }

    /// Compiles a model under a plan and computes the cost for a client with this many examples, at least 1. If the
    /// plan's batch size is larger, a batch contains all examples.
    ///
    /// # Errors
    /// Returns the errors of [`Inspection::new`].
    pub fn for_examples(model: &Model, plan: &TrainingPlan, examples: usize) -> Result<Self, TrainError> {
        plan.validate()?;
        let batch_size = full_batch(plan.batch_size as usize, examples.max(1));
        let source = StepSource::without_examples(model, plan)?;
        let model = &source.model.clone();
        let lowered = model.lower(batch_size, Mode::Inference)?;
        let forward = Program::<f32>::plan(&lowered.graph, &[lowered.output], &source.parameters.ranges, 1);
        let source = BatchSource::new(source);
        let step: BatchProgram = BatchProgram::compile(&source, batch_size, false)?;
        let StepSource { parameters, layout, .. } = &source.step;
        let trained: usize = step.trained().iter().map(std::ops::Range::len).sum();
        let accumulated = if plan.accumulation_steps > 1 { trained } else { 0 };
        let (optimizer, shapes) = (optimizer_rule(plan.optimizer), step.trained_shapes(&source));
        let state: usize = shapes.iter().map(|shape| optimizer.state_length(*shape)).sum();
        let workspace = optimizer.workspace_length(&shapes);
        let memory = step.memory();
        // Sharpness-aware minimisation computes everything twice, and keeps a copy of the weights meanwhile.
        let copies = if plan.sharpness_aware.is_some() || plan.optimizer.uses_curvature() { 2 } else { 1 };
        let passes = if plan.sharpness_aware.is_some() { 2 } else { plan.optimizer.gradients_per_step() };
        let kernels = step.kernels().into_iter().map(|(name, count)| (name, passes as usize * count));
        let batch = model.input_shape().iter().product::<usize>() + layout.labels_per_example();
        let float = size_of::<f32>();
        Ok(Self {
            inputs: model.inputs().iter().map(InspectedInput::from).collect(),
            input_shape: model.input_shape().to_vec(),
            output: model.output_name().to_owned(),
            output_shape: model.output_shape().to_vec(),
            outputs: output_names(model),
            operators: model.operators(),
            parameters: inspected(model, parameters),
            trained_elements: trained_elements(parameters),
            remarks: remarks(model, parameters),
            batch_size,
            forward: Cost { flops: forward.flops(), kernels: forward.kernels() },
            step: Cost { flops: u64::from(passes) * step.flops(), kernels: kernels.collect() },
            memory: StepMemory {
                weights: (1 + copies) * model.parameter_count() * float,
                gradients: memory.outputs + accumulated * float,
                optimizer_state: state * float,
                live_activations: memory.live,
                arena: memory.arena,
                working: memory.scratch + memory.constants + (batch_size * batch + workspace) * float,
            },
        })
    }
}

fn output_names(model: &Model) -> Vec<String> {
    match model.outputs() {
        [_] => Vec::new(),
        outputs => outputs.iter().map(|output| output.name.clone()).collect(),
    }
}

fn trained_elements(parameters: &Parameters) -> usize {
    let roles = parameters.roles.iter().zip(&parameters.ranges);
    roles.filter(|(role, _)| **role == Role::Trained).map(|(_, range)| range.len()).sum()
}

/// Returns the remarks about the file, without those that the plan has settled.
fn remarks(model: &Model, parameters: &Parameters) -> Vec<InspectedRemark> {
    let specs = model.parameters().iter().zip(&parameters.roles);
    let chosen: BTreeSet<&str> = specs
        .filter(|(spec, role)| spec.kind == ParameterKind::Constant && **role == Role::Trained)
        .map(|(spec, _)| spec.name.as_str())
        .collect();
    model.remarks().iter().filter(|remark| !chosen.contains(remark.tensor())).map(Into::into).collect()
}

fn inspected(model: &Model, parameters: &Parameters) -> Vec<InspectedParameter> {
    let roles = model.parameters().iter().zip(&parameters.roles);
    let inspect = |(spec, role): (&ParameterSpec, &Role)| InspectedParameter {
        name: spec.name.clone(),
        shape: spec.shape.clone(),
        role: match (role, spec.kind) {
            (Role::Frozen, ParameterKind::Constant) => "constant",
            (Role::Frozen, _) => "frozen",
            (Role::Statistic, _) => "statistic",
            (Role::Trained, _) => "trained",
        },
    };
    roles.map(inspect).collect()
}
