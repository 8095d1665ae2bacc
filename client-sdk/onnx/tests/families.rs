//! Small models that together use every operator that came after the first example models. `folkmoot-inference` compares
//! them with tract, and `folkmoot-engine` compares their training step on the GPU with that on the CPU.

mod attention;
mod elements;
mod functions;
mod images;
mod positions;
mod volumes;

use std::path::Path;

use super::*;
use folkmoot_onnx::Mode;
use folkmoot_onnx_file::proto::{DimensionProto, DimensionValue, FunctionProto, TensorShapeProto};

/// The models by file name, without extension.
fn models() -> Vec<(&'static str, ModelProto)> {
    vec![
        ("attention", attention::model()),
        ("elements", elements::model()),
        ("functions", functions::model()),
        ("images", images::model()),
        ("positions", positions::model()),
        ("volumes", volumes::model()),
    ]
}

/// A model with the input `x` of `[N, …]` and one output, that of the last node.
fn model(opset: i64, shape: &[i64], nodes: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let batch = std::iter::once(DimensionValue::DimParam("N".into()));
    let dims = batch.chain(shape.iter().map(|size| DimensionValue::DimValue(*size)));
    let dim = dims.map(|value| DimensionProto { value: Some(value) }).collect();
    let value = |name: &str, shape| ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type: data_type::FLOAT, shape }) }),
    };
    let last = nodes.last().unwrap().output[0].clone();
    let graph = GraphProto {
        node: nodes,
        name: "model".into(),
        initializer,
        input: vec![value("x", Some(TensorShapeProto { dim }))],
        output: vec![value(&last, None)],
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: opset }];
    ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..Default::default() }
}

/// Weights between -1 and 1.
fn weights(name: &str, dims: &[i64]) -> TensorProto {
    let count = dims.iter().product::<i64>();
    let seed = name.bytes().fold(7u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let number = |index: i64| ((index as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32;
    let elements: Vec<f32> = (0..count).map(|index| number(index) / (1 << 23) as f32 - 1.0).collect();
    floats(name, dims, &elements)
}

/// `If` between two branches that compute with the constant `two` or with `three`. A branch returns its last node's
/// output.
pub(super) fn choice(condition: &str, output: &str, branch: impl Fn(&str) -> Vec<NodeProto>) -> NodeProto {
    let graph = |name: &str, factor: &str| {
        let nodes = branch(factor);
        let last = nodes.last().unwrap().output[0].clone();
        let graph = GraphProto {
            node: nodes,
            name: "branch".into(),
            initializer: vec![floats("two", &[], &[2.0]), floats("three", &[], &[3.0])],
            output: vec![ValueInfoProto { name: last, r#type: None }],
            ..Default::default()
        };
        let (name, g) = (name.into(), Some(Box::new(graph)));
        AttributeProto { name, g, r#type: attribute_type::GRAPH, ..Default::default() }
    };
    node("If", &[condition], output, vec![graph("then_branch", "two"), graph("else_branch", "three")])
}

fn graph(model: &mut ModelProto) -> &mut GraphProto {
    model.graph.as_mut().unwrap()
}

/// The error of the changed model.
fn refusal_of(mut model: ModelProto, change: impl FnOnce(&mut ModelProto)) -> String {
    change(&mut model);
    import(&model).unwrap_err().to_string()
}

fn integers_of(name: &str, dims: &[i64], elements: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), ..integers(name, elements) }
}

#[test]
fn every_model_is_imported_in_both_modes() {
    for (name, model) in models() {
        let file = import(&model).unwrap_or_else(|error| panic!("{name}: {error}"));
        for mode in [Mode::Training, Mode::Inference] {
            let lowered = file.lower(3, mode).unwrap();
            assert_eq!(lowered.graph.shape(lowered.output)[0], 3, "{name}");
        }
    }
}

/// `FOLKMOOT_BLESS=1` writes the files again.
#[test]
fn the_files_are_these_models() {
    for (name, model) in models() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.onnx"));
        let onnx = model.encode_to_vec();
        if std::env::var_os("FOLKMOOT_BLESS").is_some() {
            std::fs::write(&path, &onnx).unwrap();
        }
        let is_same = std::fs::read(&path).is_ok_and(|file| file == onnx);
        assert!(is_same, "{} is out of date: run this test with FOLKMOOT_BLESS=1", path.display());
    }
}
