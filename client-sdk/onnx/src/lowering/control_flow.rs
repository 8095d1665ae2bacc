//! Nodes with nested graphs. `If` becomes the nodes of one branch. `Loop` and `Scan` become the nodes of their body,
//! once for each step. The condition and the number of steps must be known as soon as the batch size is known.

use super::Lowering;
use crate::ImportError;
use crate::attributes::{Attributes, node_name, unsupported_use};
use crate::node::Tensor;
use crate::proto::{GraphProto, NodeProto, ValueInfoProto};
use crate::tensor::{self, Constant, ElementType};

/// The maximum number of levels of nested graphs.
const DEPTH_MAX: usize = 16;
/// The maximum number of steps of a loop. The limit on operations usually comes first.
const STEPS_MAX: usize = 10_000;

type Added = Result<Vec<Tensor>, ImportError>;

impl<'a> Lowering<'a> {
    /// Adds the nodes of a node that has graphs. Returns its outputs, or `None` for any other node.
    pub(super) fn add_graphs(
        &mut self,
        node: &'a NodeProto,
        inputs: &[Option<Tensor>],
    ) -> Result<Option<Vec<Tensor>>, ImportError> {
        match node.op_type.as_str() {
            "If" => self.add_branch(node, inputs).map(Some),
            "Loop" => self.add_loop(node, inputs).map(Some),
            "Scan" => self.add_scan(node, inputs).map(Some),
            _ => Ok(None),
        }
    }

    fn add_branch(&mut self, node: &'a NodeProto, inputs: &[Option<Tensor>]) -> Added {
        let [Some(condition)] = inputs else {
            return Err(unsupported_use(node, "must have one input, the condition"));
        };
        let Some(condition) = self.graph.scalar(condition.value) else {
            let reason = format!(
                "chooses by {}, which must be known when the model is imported; make it a constant",
                node.input[0]
            );
            return Err(unsupported_use(node, &reason));
        };
        let name = if condition == 0.0 { "else_branch" } else { "then_branch" };
        let attributes = Attributes::new(node, &["else_branch", "then_branch"])?;
        let branch = attributes.graph(name)?;
        let branch = branch.ok_or_else(|| unsupported_use(node, &format!("lacks {name}")))?;
        self.add_graph(node, name, branch, &[])
    }

    /// Adds the steps of a `Loop`. It ends after its trip count, or when its condition is false.
    fn add_loop(&mut self, node: &'a NodeProto, inputs: &[Option<Tensor>]) -> Added {
        let body = body(node, &["body"])?;
        let trip_count = match inputs.first().copied().flatten() {
            Some(count) => self.known(node, count, &node.input[0])?,
            None => f64::INFINITY,
        };
        let first = inputs.iter().skip(2).copied().collect::<Option<Vec<Tensor>>>();
        let mut carried =
            first.ok_or_else(|| unsupported_use(node, "lacks the first value of a variable"))?;
        let variables = carried.len();
        expect_counts(node, body, 2 + variables, 1 + variables)?;
        let mut kept = vec![Vec::new(); body.output.len() - 1 - variables];
        let (mut condition, mut step) = (inputs.get(1).copied().flatten(), 0);
        let mut name = node.input.get(1).map_or("", String::as_str);
        while (step as f64) < trip_count {
            let goes_on = condition.map_or(Ok(1.0), |condition| self.known(node, condition, name))?;
            if goes_on == 0.0 {
                break;
            }
            if step == STEPS_MAX {
                return Err(unsupported_use(node, &format!("has more than {STEPS_MAX} steps")));
            }
            let mut given = vec![self.scalar(step as f64, ElementType::Integer)];
            given.push(self.scalar(1.0, ElementType::Boolean));
            given.append(&mut carried);
            let mut results = self.add_step(node, body, &given)?.into_iter();
            (condition, name) = (results.next(), &body.output[0].name);
            carried = results.by_ref().take(variables).collect();
            kept.iter_mut().zip(results).for_each(|(all, one)| all.push(one));
            step += 1;
        }
        for all in kept {
            carried.push(self.stacked(node, &all, 0)?);
        }
        Ok(carried)
    }

    /// Adds the steps of a `Scan`, one for each position on an axis of its sequences.
    fn add_scan(&mut self, node: &'a NodeProto, inputs: &[Option<Tensor>]) -> Added {
        let lists =
            ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];
        let known = [&["body", "num_scan_inputs"][..], &lists].concat();
        let body = body(node, &known)?;
        let attributes = Attributes::new(node, &known)?;
        if self.opset < 9 {
            return Err(unsupported_use(
                node,
                "has a batch of its own in opset 8; export with opset 9 or newer",
            ));
        }
        let given = inputs.iter().copied().collect::<Option<Vec<Tensor>>>();
        let given = given.ok_or_else(|| unsupported_use(node, "lacks an input"))?;
        let sequences = usize::try_from(attributes.integer("num_scan_inputs", 0)?).unwrap_or(0);
        let Some(variables) = given.len().checked_sub(sequences).filter(|_| sequences > 0) else {
            return Err(unsupported_use(node, "must have at least one sequence among its inputs"));
        };
        expect_counts(node, body, given.len(), variables)?;
        let results = body.output.len() - variables;
        let mut read = [vec![0; sequences], vec![0; sequences], vec![0; results], vec![0; results]];
        for (name, numbers) in lists.iter().zip(&mut read) {
            match attributes.integers(name)? {
                Some(given) if given.len() == numbers.len() => numbers.copy_from_slice(given),
                Some(_) => return Err(unsupported_use(node, &format!("has {name} of another length"))),
                None => {}
            }
        }
        let [axes, directions, result_axes, result_directions] = read;
        let (mut carried, sequences) = (given[..variables].to_vec(), &given[variables..]);
        let context = self.at(node, Vec::new());
        let axis =
            |(sequence, axis): (&Tensor, &i64)| context.axis(*axis, context.shape(sequence.value).len());
        let axes: Vec<usize> = sequences.iter().zip(&axes).map(axis).collect::<Result<_, _>>()?;
        let lengths: Vec<usize> =
            sequences.iter().zip(&axes).map(|(one, axis)| context.shape(one.value)[*axis]).collect();
        let steps = lengths[0];
        if lengths.iter().any(|length| *length != steps) || steps > STEPS_MAX {
            let reason =
                format!("has sequences of lengths {lengths:?}; they must be equal and at most {STEPS_MAX}");
            return Err(unsupported_use(node, &reason));
        }
        let mut kept = vec![Vec::new(); results];
        for step in 0..steps {
            let mut given = std::mem::take(&mut carried);
            for ((sequence, axis), direction) in sequences.iter().zip(&axes).zip(&directions) {
                let position = if *direction == 0 { step } else { steps - 1 - step };
                given.push(self.element(node, *sequence, *axis, position)?);
            }
            let mut results = self.add_step(node, body, &given)?.into_iter();
            carried = results.by_ref().take(variables).collect();
            kept.iter_mut().zip(results).for_each(|(all, one)| all.push(one));
        }
        for ((mut all, axis), direction) in kept.into_iter().zip(result_axes).zip(result_directions) {
            if direction != 0 {
                all.reverse();
            }
            carried.push(self.stacked(node, &all, axis)?);
        }
        Ok(carried)
    }

    /// Adds the nodes of a body once.
    fn add_step(&mut self, node: &'a NodeProto, body: &'a GraphProto, given: &[Tensor]) -> Added {
        self.budget.count_unrolled(1 + body.node.len())?;
        self.add_graph(node, "body", body, given)
    }

    /// Adds the nodes of a graph inside of a node, with these values as its inputs. Returns its outputs. The names inside
    /// are forgotten.
    fn add_graph(
        &mut self,
        node: &'a NodeProto,
        attribute: &str,
        graph: &'a GraphProto,
        given: &[Tensor],
    ) -> Added {
        if self.depth >= DEPTH_MAX {
            return Err(unsupported_use(node, &format!("is in more than {DEPTH_MAX} branches and loops")));
        }
        self.depth += 1;
        let outside = self.inner.len();
        for (input, tensor) in graph.input.iter().zip(given) {
            self.name(&input.name, *tensor);
        }
        for tensor in &graph.initializer {
            let constant = tensor::constant(tensor, &self.budget.limits)?;
            self.budget.room_for_constants(constant.elements.len())?;
            self.add_constant(&tensor.name, &constant)?;
        }
        graph.node.iter().try_for_each(|node| self.add_node(node))?;
        let output = |output: &ValueInfoProto| {
            self.tensor(&output.name).ok_or_else(|| ImportError::MissingValue {
                reader: format!("the {attribute} of node {}", node_name(node)),
                value: output.name.clone(),
            })
        };
        let outputs: Vec<Tensor> = graph.output.iter().map(output).collect::<Result<_, _>>()?;
        for (name, before) in self.inner.drain(outside..).rev() {
            match before {
                Some(tensor) => self.names.insert(name, tensor),
                None => self.names.remove(name),
            };
        }
        self.depth -= 1;
        Ok(outputs)
    }

    /// Returns the only element of a value, which must be constant.
    fn known(&self, node: &NodeProto, tensor: Tensor, name: &str) -> Result<f64, ImportError> {
        self.graph.scalar(tensor.value).ok_or_else(|| {
            let reason = format!(
                "repeats its body as {name} says, which must be known when the model is imported; export the model with a \
                 constant number of steps"
            );
            unsupported_use(node, &reason)
        })
    }

    fn scalar(&mut self, number: f64, element_type: ElementType) -> Tensor {
        let constant = Constant { shape: Vec::new(), elements: vec![number], element_type };
        let value = self.graph.add_constant(&constant.shape, constant.elements);
        Tensor { value, element_type }
    }

    /// Returns the part of a sequence at a position of an axis, without this axis.
    fn element(
        &mut self,
        node: &NodeProto,
        sequence: Tensor,
        axis: usize,
        position: usize,
    ) -> Result<Tensor, ImportError> {
        let mut context = self.at(node, Vec::new());
        let mut shape = context.shape(sequence.value);
        shape.remove(axis);
        let part = context.slice_axis(sequence.value, axis, position, 1)?;
        Ok(sequence.with(context.reshape(part, &shape)?))
    }

    /// Joins the results of all steps along a new axis.
    fn stacked(&mut self, node: &NodeProto, results: &[Tensor], axis: i64) -> Result<Tensor, ImportError> {
        let Some(first) = results.first().copied() else {
            return Err(unsupported_use(node, "has no step, so the shape of its results is not known"));
        };
        let mut context = self.at(node, Vec::new());
        let axis = context.axis(axis, context.shape(first.value).len() + 1)?;
        let mut values = Vec::with_capacity(results.len());
        for result in results {
            let mut shape = context.shape(result.value);
            shape.insert(axis.min(shape.len()), 1);
            values.push(context.reshape(result.value, &shape)?);
        }
        Ok(first.with(context.concat(&values, axis)?))
    }
}

fn body<'a>(node: &'a NodeProto, known: &[&str]) -> Result<&'a GraphProto, ImportError> {
    Attributes::new(node, known)?.graph("body")?.ok_or_else(|| unsupported_use(node, "lacks a body"))
}

/// Checks that a body has this many inputs and at least this many outputs.
fn expect_counts(
    node: &NodeProto,
    body: &GraphProto,
    inputs: usize,
    outputs: usize,
) -> Result<(), ImportError> {
    if body.input.len() == inputs && body.output.len() >= outputs {
        return Ok(());
    }
    let reason = format!(
        "has a body with {} inputs and {} outputs; it must have {inputs} inputs and at least {outputs} outputs",
        body.input.len(),
        body.output.len()
    );
    Err(unsupported_use(node, &reason))
}
