//! Builds ONNX models in code, for tests, benchmarks and first steps.

mod cnn;
mod statistics;

pub use cnn::federated_averaging_cnn;
pub use statistics::{STATISTICS, StatisticsNumber, statistics};

use prost::Message;
use prost::bytes::Bytes;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

use super::proto::{
    AttributeProto, DimensionProto, DimensionValue, FLOAT, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    attribute_type,
};
use folkmoot_graph::random::standard_normal;

const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// Builds a multilayer perceptron with Relu between the layers. `widths` lists the widths of the input, the hidden
/// layers and the output.
///
/// Input `input` `[N, widths[0]]`, output `logits` `[N, last width]`. Weights `layer_1.weight` `[outputs, inputs]` and
/// so on are drawn from `seed` after He et al. 2015 (equation 10); biases `layer_1.bias` and so on are 0.
///
/// # Panics
/// Panics if there are fewer than two widths, or a width is 0.
pub fn mlp(widths: &[usize], seed: u64) -> Vec<u8> {
    assert!(widths.len() >= 2 && !widths.contains(&0), "an MLP needs two or more widths, none of them 0");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let layers = widths.len() - 1;
    let (mut nodes, mut initializers) = (Vec::new(), Vec::new());
    let mut current = "input".to_owned();
    for (layer, pair) in (1..).zip(widths.windows(2)) {
        let (inputs, outputs) = (pair[0], pair[1]);
        let weights = he_normal(&mut rng, inputs, outputs).into_iter();
        let (weight, bias) = (format!("layer_{layer}.weight"), format!("layer_{layer}.bias"));
        initializers.push(tensor(&weight, &[outputs, inputs], weights));
        initializers.push(tensor(&bias, &[outputs], std::iter::repeat_n(0.0, outputs)));
        let result = if layer == layers { "logits".to_owned() } else { format!("layer_{layer}.sum") };
        let transpose =
            AttributeProto { name: "transB".into(), i: 1, r#type: attribute_type::INT, ..Default::default() };
        nodes.push(node("Gemm", &[&current, &weight, &bias], &result, vec![transpose]));
        current = result;
        if layer < layers {
            let activated = format!("layer_{layer}.activated");
            nodes.push(node("Relu", &[&current], &activated, vec![]));
            current = activated;
        }
    }
    model(nodes, initializers, widths[0], ("logits", widths[layers]))
}

/// Builds the perceptron of [`mlp`], with at least two layers. Training drops out half of the first layer's sums.
pub fn mlp_with_dropout(widths: &[usize], seed: u64) -> Vec<u8> {
    let mut model = ModelProto::decode(&mlp(widths, seed)[..]).expect("what was written can be read");
    let graph = model.graph.as_mut().expect("a model has a graph");
    graph.initializer.push(tensor("ratio", &[], std::iter::once(0.5)));
    graph.node[1].input[0] = "dropped".into();
    graph.node.insert(1, node("Dropout", &["layer_1.sum", "ratio"], "dropped", vec![]));
    model.encode_to_vec()
}

/// Builds the perceptron of [`mlp`] with other operators behind the last layer, one after another, for example
/// `["Softmax"]`. Each operator reads one tensor and needs no attribute.
///
/// # Panics
/// Panics like [`mlp`].
pub fn mlp_followed_by(widths: &[usize], seed: u64, operators: &[&str]) -> Vec<u8> {
    let mut model = ModelProto::decode(&mlp(widths, seed)[..]).expect("what was written can be read");
    let graph = model.graph.as_mut().expect("a model has a graph");
    for (number, operator) in (1..).zip(operators) {
        let output = format!("output_{number}");
        graph.node.push(node(operator, &[&graph.output[0].name], &output, vec![]));
        graph.output[0].name = output;
    }
    model.encode_to_vec()
}

/// Returns a model with other outputs. Each is the name of a value in its graph, or `class`, the number of the largest logit.
///
/// # Panics
/// Panics if the bytes are not a model of this module.
pub fn with_outputs(model: &[u8], outputs: &[&str]) -> Vec<u8> {
    let mut model = ModelProto::decode(model).expect("what was written can be read");
    let graph = model.graph.as_mut().expect("a model has a graph");
    if outputs.contains(&"class") {
        let axis =
            AttributeProto { name: "axis".into(), i: 1, r#type: attribute_type::INT, ..Default::default() };
        graph.node.push(node("ArgMax", &["logits"], "class", vec![axis]));
    }
    let output = |name: &&str| ValueInfoProto { name: (*name).to_owned(), r#type: None };
    graph.output = outputs.iter().map(output).collect();
    model.encode_to_vec()
}

/// Builds a model with one trainable tensor: `weights` `[1, parameter_count]`, all 0.
///
/// Input `input` `[N, 1]`, output `output` `[N, parameter_count]`, the product of input and weights. For benchmarks in
/// which only the number of parameters matters.
///
/// # Panics
/// Panics if `parameter_count` is 0.
pub fn single_tensor(parameter_count: usize) -> Vec<u8> {
    assert!(parameter_count > 0, "a model needs a parameter");
    let weights = tensor("weights", &[1, parameter_count], std::iter::repeat_n(0.0, parameter_count));
    let product = node("MatMul", &["input", "weights"], "output", vec![]);
    model(vec![product], vec![weights], 1, ("output", parameter_count))
}

/// Draws the weights of `outputs` units with `inputs` inputs each, after He et al. 2015 (equation 10).
fn he_normal(rng: &mut ChaCha20Rng, inputs: usize, outputs: usize) -> Vec<f32> {
    let deviation = (2.0 / inputs as f64).sqrt();
    (0..inputs * outputs).map(|_| (standard_normal(rng) * deviation) as f32).collect()
}

fn model(
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    input_width: usize,
    (output, output_width): (&str, usize),
) -> Vec<u8> {
    let graph = GraphProto {
        node: nodes,
        name: "folkmoot".into(),
        initializer: initializers,
        input: vec![batched("input", input_width)],
        output: vec![batched(output, output_width)],
    };
    ModelProto {
        ir_version: IR_VERSION,
        producer_name: "folkmoot".into(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
        functions: Vec::new(),
    }
    .encode_to_vec()
}

fn node(op_type: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(ToString::to_string).collect(),
        output: vec![output.to_owned()],
        name: format!("{op_type} to {output}"),
        op_type: op_type.to_owned(),
        attribute,
        domain: String::new(),
    }
}

fn tensor(name: &str, dims: &[usize], elements: impl Iterator<Item = f32>) -> TensorProto {
    TensorProto {
        dims: dims.iter().map(|size| *size as i64).collect(),
        data_type: FLOAT,
        name: name.to_owned(),
        raw_data: Bytes::from_iter(elements.flat_map(f32::to_le_bytes)),
        ..Default::default()
    }
}

/// A float value of shape `[N, width]`.
fn batched(name: &str, width: usize) -> ValueInfoProto {
    let dims = [DimensionValue::DimParam("N".into()), DimensionValue::DimValue(width as i64)];
    let dim = dims.into_iter().map(|value| DimensionProto { value: Some(value) }).collect();
    let tensor_type = TensorTypeProto { elem_type: FLOAT, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}
