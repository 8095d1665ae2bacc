//! Import of valid models, and the errors for everything else.

#![allow(clippy::unwrap_used, reason = "what helps a test may fail as a test does")]

mod composed;
mod encodings;
mod exporters;
mod external;
mod families;
mod hostile;
mod inputs;
mod loops;
mod ml;
mod modes;
mod network;
mod operators;
mod outputs;
mod precision;
mod recurrent;
mod refusals;
mod shapes;
mod weights;

use prost::Message;

use folkmoot_onnx::network::{Network, NetworkError, NetworkTensor};
use folkmoot_onnx::{FileError, ImportError, ImportLimits, Mode, ModelFile, Obstacle, build};
use folkmoot_onnx_file::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorTypeProto,
    TypeProto, ValueInfoProto, attribute_type, data_type,
};

/// A small valid model, decoded so that a test can change it.
fn small() -> ModelProto {
    ModelProto::decode(&build::mlp(&[2, 3, 2], 1)[..]).unwrap()
}

/// The small model after a change to its graph.
fn changed(change: impl FnOnce(&mut GraphProto)) -> ModelProto {
    let mut model = small();
    change(model.graph.as_mut().unwrap());
    model
}

fn import(model: &ModelProto) -> Result<ModelFile, ImportError> {
    ModelFile::read(&model.encode_to_vec(), &ImportLimits::default())
}

/// The error for the small model after a change to its graph.
fn refusal(change: impl FnOnce(&mut GraphProto)) -> ImportError {
    import(&changed(change)).unwrap_err()
}

fn node(op_type: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    let input = inputs.iter().map(ToString::to_string).collect();
    NodeProto { input, output: vec![output.into()], op_type: op_type.into(), attribute, ..Default::default() }
}

fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.into(), f, r#type: attribute_type::FLOAT, ..Default::default() }
}

fn integer(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i, r#type: attribute_type::INT, ..Default::default() }
}

fn floats(name: &str, dims: &[i64], elements: &[f32]) -> TensorProto {
    let float_data = elements.to_vec();
    TensorProto { name: name.into(), dims: dims.to_vec(), data_type: 1, float_data, ..Default::default() }
}

fn integers(name: &str, elements: &[i64]) -> TensorProto {
    let dims = vec![elements.len() as i64];
    TensorProto {
        name: name.into(),
        dims,
        data_type: data_type::INT64,
        int64_data: elements.to_vec(),
        ..Default::default()
    }
}

fn integer_list(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ints: ints.to_vec(),
        r#type: attribute_type::INTS,
        ..Default::default()
    }
}

fn text(name: &str, text: &'static str) -> AttributeProto {
    let s = prost::bytes::Bytes::from_static(text.as_bytes());
    AttributeProto { name: name.into(), s, r#type: attribute_type::STRING, ..Default::default() }
}

fn tensor(shape: &[usize], elements: &[f64]) -> NetworkTensor {
    NetworkTensor { shape: shape.to_vec(), elements: elements.to_vec() }
}

/// Runs a network of these nodes. Its float inputs are named `x`, `y`, and so on; it outputs the results of the last
/// node.
fn run(
    opset: i64,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    inputs: &[NetworkTensor],
) -> Result<Vec<NetworkTensor>, NetworkError> {
    let float_tensor = TensorTypeProto { elem_type: data_type::FLOAT, shape: None };
    let value = |name: &str| ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { tensor_type: Some(float_tensor.clone()) }),
    };
    let outputs = nodes.last().map(|node| node.output.clone()).unwrap_or_default();
    let graph = GraphProto {
        input: ["x", "y", "z", "w"][..inputs.len()].iter().map(|name| value(name)).collect(),
        output: outputs.iter().map(|name| value(name)).collect(),
        node: nodes,
        initializer: initializers,
        ..Default::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: opset }];
    let model = ModelProto { graph: Some(graph), opset_import, ..Default::default() };
    Network::from_onnx(&model.encode_to_vec(), &ImportLimits::default())?.run(inputs)
}

/// Returns the only output of [`run`].
fn output(nodes: Vec<NodeProto>, initializers: Vec<TensorProto>, inputs: &[NetworkTensor]) -> NetworkTensor {
    run(17, nodes, initializers, inputs).unwrap().remove(0)
}

fn expect_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found_element, element) in found.iter().zip(expected) {
        assert!((found_element - element).abs() < 1e-6, "{found:?} instead of {expected:?}");
    }
}
