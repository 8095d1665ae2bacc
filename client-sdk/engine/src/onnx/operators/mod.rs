//! From ONNX nodes to operators of the graph, one function for each kind.

mod constant;
mod reshape;

use super::ImportError;
use super::attributes::{Attributes, node_name, operator_name, unsupported_use};
use super::import::{Binding, Importer};
use super::proto::NodeProto;
use crate::graph::{Op, ValueId};

/// The ONNX operators that can be imported.
pub const SUPPORTED_OPERATORS: &[&str] = &[
    "Add", "Constant", "Flatten", "Gemm", "Identity", "MatMul", "Mul", "Relu", "Reshape", "Sigmoid", "Sub",
    "Tanh",
];

/// Imports one node.
///
/// # Errors
/// Returns an [`ImportError`] that names the node.
pub(super) fn import_node(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    if !matches!(node.domain.as_str(), "" | "ai.onnx") {
        return Err(unsupported_operator(node));
    }
    match &node.output[..] {
        [output] if !output.is_empty() => {}
        _ => return Err(unsupported_use(node, "does not have exactly one named output")),
    }
    match node.op_type.as_str() {
        "Add" => elementwise(importer, node, Op::Add, 2),
        "Sub" => elementwise(importer, node, Op::Sub, 2),
        "Mul" => elementwise(importer, node, Op::Mul, 2),
        "MatMul" => elementwise(importer, node, Op::MatMul, 2),
        "Relu" => elementwise(importer, node, Op::Relu, 1),
        "Sigmoid" => elementwise(importer, node, Op::Sigmoid, 1),
        "Tanh" => elementwise(importer, node, Op::Tanh, 1),
        "Gemm" => gemm(importer, node),
        "Identity" => identity(importer, node),
        "Constant" => constant::import(importer, node),
        "Flatten" => reshape::flatten(importer, node),
        "Reshape" => reshape::reshape(importer, node),
        _ => Err(unsupported_operator(node)),
    }
}

/// An operator without attributes whose inputs are all tensors.
fn elementwise(
    importer: &mut Importer<'_>,
    node: &NodeProto,
    op: Op,
    inputs: usize,
) -> Result<(), ImportError> {
    Attributes::new(node, &[])?;
    let values = values(importer, node, inputs..=inputs)?;
    importer.add(node, op, values)
}

fn gemm(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    let attributes = Attributes::new(node, &["alpha", "beta", "transA", "transB"])?;
    let op = Op::Gemm {
        alpha: attributes.float("alpha", 1.0)?,
        beta: attributes.float("beta", 1.0)?,
        transpose_a: attributes.flag("transA")?,
        transpose_b: attributes.flag("transB")?,
    };
    let values = values(importer, node, 2..=3)?;
    importer.add(node, op, values)
}

/// Another name for the same value.
fn identity(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    Attributes::new(node, &[])?;
    expect_inputs(node, 1..=1)?;
    let binding = importer.input(node, 0)?.clone();
    importer.bind(&node.output[0], binding)
}

/// The node's inputs, all of which must be float tensors.
fn values(
    importer: &Importer<'_>,
    node: &NodeProto,
    count: std::ops::RangeInclusive<usize>,
) -> Result<Vec<ValueId>, ImportError> {
    expect_inputs(node, count)?;
    (0..input_count(node)).map(|position| value(importer, node, position)).collect()
}

/// The node's input at `position`, which must be a float tensor.
fn value(importer: &Importer<'_>, node: &NodeProto, position: usize) -> Result<ValueId, ImportError> {
    match importer.input(node, position)? {
        Binding::Value(id) => Ok(*id),
        Binding::Integers(_) => Err(unsupported_use(node, "computes with integers, which is not supported")),
    }
}

/// The inputs, without the empty names with which ONNX leaves trailing optional ones out.
fn input_count(node: &NodeProto) -> usize {
    node.input.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)
}

fn expect_inputs(node: &NodeProto, count: std::ops::RangeInclusive<usize>) -> Result<(), ImportError> {
    let found = input_count(node);
    if count.contains(&found) {
        return Ok(());
    }
    Err(unsupported_use(node, &format!("has {found} inputs")))
}

fn unsupported_operator(node: &NodeProto) -> ImportError {
    ImportError::UnsupportedOperator {
        node: node_name(node),
        operator: operator_name(node),
        supported: SUPPORTED_OPERATORS.join(", "),
    }
}
