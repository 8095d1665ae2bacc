//! Tests of the rules that tell weights from constants and separate merged tensors.

use super::families::choice;
use super::*;
use folkmoot_onnx::ParameterKind;
use folkmoot_onnx_file::proto::data_type::{DOUBLE, UINT8};

pub(super) fn kinds(file: &ModelFile) -> Vec<(&str, ParameterKind)> {
    file.parameters().iter().map(|one| (one.name.as_str(), one.kind)).collect()
}

fn names(file: &ModelFile) -> Vec<&str> {
    file.parameters().iter().map(|one| one.name.as_str()).collect()
}

pub(super) fn words(file: &ModelFile) -> Vec<(&str, &str)> {
    file.remarks().iter().map(|remark| (remark.kind(), remark.tensor())).collect()
}

/// Adds an entry to the file's metadata.
pub(super) fn with_metadata(model: &ModelProto, key: &str, value: &str) -> Vec<u8> {
    let text = |number: u8, text: &str| [&[number << 3 | 2, text.len() as u8][..], text.as_bytes()].concat();
    let entry = [text(1, key), text(2, value)].concat();
    [model.encode_to_vec(), vec![14 << 3 | 2, entry.len() as u8], entry].concat()
}

pub(super) fn read(bytes: &[u8]) -> Result<ModelFile, ImportError> {
    ModelFile::read(bytes, &ImportLimits::default())
}

/// The small model, whose first result is scaled by a number that is a float initializer.
fn scaled() -> ModelProto {
    changed(|graph| {
        graph.initializer.push(floats("val_2", &[], &[0.5]));
        graph.node.insert(1, node("Mul", &["layer_1.sum", "val_2"], "scaled", vec![]));
        graph.node[2].input[0] = "scaled".into();
    })
}

#[test]
fn a_number_in_a_formula_is_not_trained_but_stays_in_its_place() {
    let file = import(&scaled()).unwrap();
    assert_eq!(kinds(&file)[4], ("val_2", ParameterKind::Constant));
    assert_eq!(words(&file), [("one_element", "val_2")]);
    assert_eq!(file.parameter_count(), 18);
    // A number with the name of a weight is trained, and that is said.
    let mut named = scaled();
    let graph = named.graph.as_mut().unwrap();
    graph.initializer[4].name = "head.logit_scale".into();
    graph.node[1].input[1] = "head.logit_scale".into();
    let file = import(&named).unwrap();
    assert_eq!(kinds(&file)[4], ("head.logit_scale", ParameterKind::Trained));
    assert_eq!(words(&file), [("named_weight", "head.logit_scale")]);
    // Our exporter says that it writes nothing but weights as initializers.
    let file = read(&with_metadata(&scaled(), "folkmoot.weights", "explicit")).unwrap();
    assert_eq!(kinds(&file)[4], ("val_2", ParameterKind::Trained));
    assert!(file.remarks().is_empty());
    // A number of another precision cannot be a weight.
    let mut model = scaled();
    let tensor = model.graph.as_mut().unwrap().initializer.last_mut().unwrap();
    (tensor.data_type, tensor.float_data, tensor.double_data) = (DOUBLE, vec![], vec![0.5]);
    assert_eq!(import(&model).unwrap().parameters().len(), 4);
}

#[test]
fn a_single_number_is_trained_where_a_layer_reads_it() {
    let weights = |model: &ModelProto| {
        let file = import(model).unwrap();
        assert!(file.parameters().iter().all(|one| one.kind == ParameterKind::Trained), "{:?}", kinds(&file));
    };
    weights(&ModelProto::decode(&build::mlp(&[1, 1], 1)[..]).unwrap());
    // The bias of a single output, added by a node of its own, also behind a change of shape.
    for reshape in [false, true] {
        weights(&changed(|graph| {
            graph.initializer = vec![floats("w", &[2, 1], &[1.0, 2.0]), floats("b", &[1], &[0.5])];
            graph.node = vec![node("MatMul", &["input", "w"], "product", vec![])];
            let mut sum = node("Add", &["product", "b"], "logits", vec![]);
            if reshape {
                graph.node.push(node("Identity", &["product"], "same", vec![]));
                sum.input[0] = "same".into();
            }
            graph.node.push(sum);
        }));
    }
    weights(&changed(|graph| {
        graph.initializer.push(floats("slope", &[1], &[0.25]));
        graph.node[1] = node("PRelu", &["layer_1.sum", "slope"], "layer_1.activated", vec![]);
    }));
}

#[test]
fn masks_and_what_feeds_settings_are_part_of_the_graph() {
    let model = changed(|graph| {
        graph.initializer.extend([
            floats("mask", &[3], &[0.0, f32::NEG_INFINITY, 0.0]),
            floats("size", &[2], &[-1.0, 3.0]),
            floats("rows", &[3], &[2.0, 0.0, 1.0]),
        ]);
        let to_whole = || vec![integer("to", 7)];
        graph.node.splice(
            1..1,
            [
                node("Cast", &["size"], "shape", to_whole()),
                node("Reshape", &["layer_1.sum", "shape"], "same", vec![]),
                node("Cast", &["rows"], "positions", to_whole()),
                node("Gather", &["same", "positions"], "mixed", vec![integer("axis", 1)]),
                node("Exp", &["mask"], "weights", vec![]),
                node("Mul", &["mixed", "weights"], "masked", vec![]),
            ],
        );
        graph.node[7].input[0] = "masked".into();
    });
    let file = import(&model).unwrap();
    assert_eq!(names(&file), ["layer_1.weight", "layer_1.bias", "layer_2.weight", "layer_2.bias"]);
    assert_eq!(words(&file), [("infinite", "mask"), ("setting", "size"), ("setting", "rows")]);
}

#[test]
fn branches_read_weights_and_settings_too() {
    let model = changed(|graph| {
        graph.initializer.extend([
            floats("gain", &[3], &[0.5, 1.0, 2.0]),
            floats("rows", &[3], &[2.0, 0.0, 1.0]),
            TensorProto { dims: vec![], ..integers("yes", &[1]) },
        ]);
        let branch = |factor: &str| {
            vec![
                node("Mul", &["layer_1.sum", "gain"], "gained", vec![]),
                node("Gather", &["gained", "positions"], "mixed", vec![integer("axis", 1)]),
                node("Mul", &["mixed", factor], "scaled", vec![]),
            ]
        };
        let positions = node("Cast", &["rows"], "positions", vec![integer("to", 7)]);
        graph.node.splice(1..1, [positions, choice("yes", "chosen", branch)]);
        graph.node[3].input[0] = "chosen".into();
    });
    let file = import(&model).unwrap();
    assert_eq!(kinds(&file)[4..], [("gain", ParameterKind::Trained)]);
    assert_eq!(words(&file), [("setting", "rows")]);
}

#[test]
fn a_quantized_weight_is_reported_once_and_its_scale_not_at_all() {
    let model = changed(|graph| {
        let byte = |name: &str, dims: &[i64], elements: &[i32]| TensorProto {
            data_type: UINT8,
            int32_data: elements.to_vec(),
            ..floats(name, dims, &[])
        };
        graph.initializer[0] = byte("bytes", &[3, 2], &[1, 2, 3, 4, 5, 6]);
        graph.initializer.extend([floats("step", &[3], &[0.5, 1.0, 2.0]), byte("zero", &[3], &[1, 2, 3])]);
        let inputs = ["bytes", "step", "zero"];
        let axis = vec![integer("axis", 0)];
        graph.node.insert(0, node("DequantizeLinear", &inputs, "layer_1.weight", axis));
    });
    let file = import(&model).unwrap();
    assert_eq!(names(&file), ["layer_1.bias", "layer_2.weight", "layer_2.bias"]);
    assert_eq!(words(&file), [("integer_weight", "bytes")]);
}

/// Three layers of equal width with normalizations behind the first two. All biases are one tensor, and so are the
/// scales.
pub(super) fn merged() -> ModelProto {
    changed(|graph| {
        let square = |name: &str, shift: f32| {
            let elements: Vec<f32> = (0..4).map(|index| index as f32 * 0.5 - shift).collect();
            floats(name, &[2, 2], &elements)
        };
        graph.initializer = vec![
            square("a.weight", 0.25),
            floats("a.bias", &[2], &[0.0; 2]),
            floats("n.weight", &[2], &[1.0; 2]),
            square("b.weight", 0.75),
            square("c.weight", 1.0),
        ];
        let layer = |name: &str, input: &str, output: &str| NodeProto {
            name: name.into(),
            ..node("Gemm", &[input, &format!("{name}.weight"), "a.bias"], output, vec![])
        };
        let norm = |name: &str, input: &str, output: &str| NodeProto {
            name: name.into(),
            ..node("LayerNormalization", &[input, "n.weight", "a.bias"], output, vec![])
        };
        graph.node = vec![
            layer("a", "input", "a"),
            norm("n", "a", "an"),
            layer("b", "an", "b"),
            norm("m", "b", "bn"),
            layer("c", "bn", "logits"),
        ];
    })
}

#[test]
fn equal_biases_and_scales_of_different_layers_become_several_weights() {
    let file = import(&merged()).unwrap();
    let expected = [
        "a.weight",
        "a.bias",
        "a.bias@n",
        "a.bias@b",
        "a.bias@m",
        "a.bias@c",
        "n.weight",
        "n.weight@m",
        "b.weight",
        "c.weight",
    ];
    assert_eq!(names(&file), expected);
    assert_eq!(words(&file), [("separated", "a.bias"), ("separated", "n.weight")]);
    // The file that is written has the new tensors, and is read as the same model.
    let weights: Vec<f32> = (0..file.parameter_count()).map(|index| index as f32).collect();
    let written = read(&file.export_onnx(&weights).unwrap()).unwrap();
    assert_eq!((names(&written), written.initial_weights()), (expected.to_vec(), weights));
    assert!(written.remarks().is_empty(), "{:?}", written.remarks());
}

#[test]
fn the_tensors_of_one_normalization_are_told_apart_without_a_layer_before_it() {
    // A batch normalisation of the features: before training, its scale equals its variance, and its bias its mean.
    let model = changed(|graph| {
        graph.initializer.extend([floats("ones", &[2], &[1.0; 2]), floats("zeros", &[2], &[0.0; 2])]);
        let inputs = ["input", "ones", "zeros", "zeros", "ones"];
        let normalization =
            NodeProto { name: "n".into(), ..node("BatchNormalization", &inputs, "normalized", vec![]) };
        graph.node.insert(0, normalization);
        graph.node[1].input[0] = "normalized".into();
    });
    let file = import(&model).unwrap();
    let expected = [
        ("ones", ParameterKind::Trained),
        ("ones@n", ParameterKind::Statistic),
        ("zeros", ParameterKind::Trained),
        ("zeros@n", ParameterKind::Statistic),
    ];
    assert_eq!(kinds(&file)[4..], expected);
}

#[test]
fn a_node_with_many_inputs_is_searched_in_bounded_time() {
    // Every sum is behind a node that reads one tensor half a million times.
    let model = changed(|graph| {
        graph.initializer.push(floats("one", &[2], &[1.0; 2]));
        let many = vec!["one"; 500_000];
        graph.node.insert(0, node("Concat", &many, "many", vec![integer("axis", 0)]));
        for number in 0..5_000 {
            graph.node.push(node("Add", &["many", "one"], &format!("sum_{number}"), vec![]));
        }
    });
    let bytes = model.encode_to_vec();
    // The tensor becomes one for each sum, and all of them again one for the common reader.
    let limits = ImportLimits { initializers_max: 100, ..ImportLimits::default() };
    let error = ModelFile::read(&bytes, &limits).unwrap_err();
    assert!(
        matches!(
            error,
            ImportError::File(FileError::TooMany { what: "initializers", count: 5_005, limit: 100 })
        ),
        "{error}"
    );
}

#[test]
fn a_separated_tensor_has_the_name_that_an_identity_gave_it() {
    // As PyTorch's older exporter writes tensors that it merged.
    let mut model = merged();
    let graph = model.graph.as_mut().unwrap();
    for (name, reader, position) in [("n.bias", 1, 2), ("b.bias", 2, 2), ("m.bias", 3, 2), ("c.bias", 4, 2)] {
        graph.node[reader].input[position] = name.into();
    }
    graph.node[3].input[1] = "m.weight".into();
    let names_of =
        [("n.weight", "m.weight"), ("a.bias", "c.bias"), ("a.bias", "m.bias"), ("a.bias", "b.bias")];
    for (from, to) in [&names_of[..], &[("a.bias", "n.bias")]].concat() {
        graph.node.insert(0, node("Identity", &[from], to, vec![]));
    }
    let file = import(&model).unwrap();
    let expected = [
        "a.weight", "a.bias", "n.bias", "b.bias", "m.bias", "c.bias", "n.weight", "m.weight", "b.weight",
        "c.weight",
    ];
    assert_eq!(names(&file), expected);
    assert!(!file.operators().contains_key("Identity"));
    let written = read(&file.export_onnx(&file.initial_weights()).unwrap()).unwrap();
    assert_eq!(names(&written), expected);
    // A shared tensor is still known as the bias of a layer.
    let file = read(&with_metadata(&model, "folkmoot.shared", "*")).unwrap();
    assert_eq!(words(&file), [("shared", "a.bias"), ("shared", "n.weight")]);
}

#[test]
fn the_metadata_keeps_tensors_together() {
    let file = read(&with_metadata(&merged(), "folkmoot.shared", "a.*")).unwrap();
    assert_eq!(words(&file), [("separated", "n.weight"), ("shared", "a.bias")]);
    let file = read(&with_metadata(&merged(), "folkmoot.weights", "explicit")).unwrap();
    assert_eq!(names(&file).len(), 5);
    for (key, value) in [("folkmoot.sharde", "a"), ("folkmoot.weights", "guess")] {
        let error = read(&with_metadata(&merged(), key, value)).unwrap_err();
        assert!(error.to_string().contains(&format!("the metadata entry {key}")), "{error}");
    }
}

#[test]
fn what_is_really_shared_stays_shared() {
    // One block, applied twice: its bias and its normalization are shared with its weight.
    let twice = |second: &str| {
        changed(|graph| {
            *graph = merged().graph.unwrap();
            graph.node[2].input[1] = format!("{second}.weight");
            graph.initializer.retain(|tensor| second == "b" || tensor.name != "b.weight");
        })
    };
    let file = import(&twice("a")).unwrap();
    let expected = ["a.weight", "a.bias", "a.bias@n", "a.bias@c", "n.weight", "c.weight"];
    assert_eq!(names(&file), expected);
    let file = read(&with_metadata(&twice("a"), "folkmoot.separate", "a.weight")).unwrap();
    assert!(
        names(&file).contains(&"a.weight@b") && names(&file).contains(&"n.weight@m"),
        "{:?}",
        names(&file)
    );
    // An embedding whose table is also the last layer's weight.
    let tied = changed(|graph| {
        graph.initializer = vec![floats("table", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])];
        graph.node = vec![
            node("MatMul", &["input", "across"], "hidden", vec![]),
            node("MatMul", &["hidden", "table"], "logits", vec![]),
        ];
        graph.node.insert(0, node("Transpose", &["table"], "across", vec![integer_list("perm", &[1, 0])]));
    });
    let file = import(&tied).unwrap();
    assert_eq!((names(&file), words(&file)), (vec!["table"], vec![("shared", "table")]));
}

#[test]
fn a_normalization_behind_a_residual_connection_is_shared_with_the_layer_before_it() {
    // One block, applied twice: it adds its layer's result to its input, and normalizes the sum.
    let model = changed(|graph| {
        *graph = merged().graph.unwrap();
        let layer = |weight: &str, input: &str, output: &str| {
            node("Gemm", &[input, &format!("{weight}.weight"), &format!("{weight}.bias")], output, vec![])
        };
        let norm = |input: &str, output: &str| {
            node("LayerNormalization", &[input, "n.weight", "n.bias"], output, vec![])
        };
        graph.initializer.extend([
            floats("b.bias", &[2], &[0.0; 2]),
            floats("c.bias", &[2], &[0.0; 2]),
            floats("n.bias", &[2], &[0.0; 2]),
        ]);
        graph.node = vec![
            layer("a", "input", "a"),
            layer("b", "a", "b_1"),
            node("Add", &["a", "b_1"], "sum_1", vec![]),
            norm("sum_1", "n_1"),
            layer("b", "n_1", "b_2"),
            node("Add", &["n_1", "b_2"], "sum_2", vec![]),
            norm("sum_2", "n_2"),
            layer("c", "n_2", "logits"),
        ];
    });
    let file = import(&model).unwrap();
    assert_eq!(names(&file).len(), 8, "{:?}", names(&file));
    let shared = ["n.weight", "b.weight", "b.bias", "n.bias"].map(|name| ("shared", name));
    assert_eq!(words(&file), shared);
}

#[test]
fn separate_tensors_count_against_the_limit() {
    let limits = ImportLimits { parameters_max: 20, ..ImportLimits::default() };
    let error = ModelFile::read(&merged().encode_to_vec(), &limits).unwrap_err();
    assert!(matches!(error, ImportError::File(FileError::TooMany { what: "parameters", .. })), "{error}");
}

#[test]
fn a_tensor_of_which_only_the_type_is_read_is_a_weight() {
    let weights = import(&changed(|_| {})).unwrap();
    let clipped = changed(|graph| {
        graph.initializer.push(floats("zero", &[], &[0.0]));
        graph.node.insert(1, node("CastLike", &["zero", "layer_1.sum"], "least", vec![]));
        graph.node[2].op_type = "Clip".into();
        graph.node[2].input.push("least".into());
    });
    let file = import(&clipped).unwrap();
    assert_eq!(names(&file), names(&weights));
    assert_eq!(words(&file), [("setting", "zero")]);
}
