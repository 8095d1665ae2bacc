//! `Constant`: a frozen tensor.

use super::{Attributes, Binding, ImportError, Importer, NodeProto, expect_inputs, unsupported_use};
use crate::graph::Constant;
use crate::onnx::proto::INT64;
use crate::onnx::tensor;

/// The forms in which ONNX gives a constant's value.
const FORMS: &[&str] = &["value", "value_float", "value_floats", "value_int", "value_ints"];

/// Imports floats as a frozen tensor of the graph and integers as numbers that other operators read.
pub(super) fn import(importer: &mut Importer<'_>, node: &NodeProto) -> Result<(), ImportError> {
    Attributes::new(node, FORMS)?;
    expect_inputs(node, 0..=0)?;
    let [attribute] = &node.attribute[..] else {
        return Err(unsupported_use(node, "must have one value"));
    };
    let output = &node.output[0];
    let limits = importer.limits;
    match (attribute.name.as_str(), &attribute.t) {
        ("value", Some(proto)) if proto.data_type == INT64 => {
            importer.bind(output, Binding::Integers(tensor::integers(proto, limits)?))
        }
        ("value", Some(proto)) => importer.add_constant(node, tensor::float_constant(proto, limits)?),
        ("value_float", _) => add_floats(importer, node, vec![], vec![attribute.f]),
        ("value_floats", _) => {
            add_floats(importer, node, vec![attribute.floats.len()], attribute.floats.clone())
        }
        ("value_int", _) => importer.bind(output, Binding::Integers(vec![attribute.i])),
        ("value_ints", _) => importer.bind(output, Binding::Integers(attribute.ints.clone())),
        _ => Err(unsupported_use(node, "has no value")),
    }
}

fn add_floats(
    importer: &mut Importer<'_>,
    node: &NodeProto,
    dims: Vec<usize>,
    elements: Vec<f32>,
) -> Result<(), ImportError> {
    if elements.is_empty() {
        return Err(unsupported_use(node, "is empty"));
    }
    tensor::expect_finite(&node.output[0], elements.iter().copied())?;
    importer.add_constant(node, Constant { dims, elements })
}
