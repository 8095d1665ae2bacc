//! Tests of files that differ from the module that an exporter was given.

use super::weights::{kinds, merged, read, with_metadata, words};
use super::*;
use folkmoot_onnx::ParameterKind;

#[test]
fn tables_of_positions_are_not_trained_but_stay_in_their_place() {
    // Rotations of queries by their positions, and biases of the attention that grow with the distance.
    let angles: Vec<f32> = (0..24).map(|at| at as f32 * 0.4).collect();
    let of_angles = |of: fn(f32) -> f32| angles.iter().map(|angle| of(*angle)).collect::<Vec<f32>>();
    let distances: Vec<f32> = (0..24).map(|at| (at / 8 + 1) as f32 * (at % 8) as f32 * 0.5).collect();
    let model = changed(|graph| {
        graph.initializer.extend([
            floats("cosines", &[8, 3], &of_angles(f32::cos)),
            floats("sines", &[8, 3], &of_angles(f32::sin)),
            floats("distances", &[3, 8], &distances),
            floats("learned", &[8, 3], &of_angles(|angle| (angle * angle).sin())),
        ]);
        let mut nodes =
            vec![node("Transpose", &["distances"], "across", vec![integer_list("perm", &[1, 0])])];
        let mut sum = "across".to_owned();
        for (number, table) in ["cosines", "sines", "learned"].iter().enumerate() {
            let next = format!("sum_{number}");
            nodes.push(node("Mul", &[&sum, table], &next, vec![]));
            sum = next;
        }
        nodes.push(node("ReduceSum", &[&sum], "factor", vec![integer("keepdims", 0)]));
        nodes.push(node("Mul", &["layer_1.sum", "factor"], "scaled", vec![]));
        graph.node.splice(1..1, nodes);
        let next = graph.node.iter_mut().find(|node| node.output == ["layer_1.activated"]).unwrap();
        next.input[0] = "scaled".into();
    });
    let file = import(&model).unwrap();
    let expected = [
        ("cosines", ParameterKind::Constant),
        ("sines", ParameterKind::Constant),
        ("distances", ParameterKind::Constant),
        ("learned", ParameterKind::Trained),
    ];
    assert_eq!(kinds(&file)[4..], expected);
    assert_eq!(words(&file), [("positions", "cosines"), ("positions", "sines"), ("positions", "distances")]);
    let file = read(&with_metadata(&model, "folkmoot.weights", "explicit")).unwrap();
    assert!(
        file.remarks().is_empty()
            && kinds(&file)[4..].iter().all(|(_, kind)| *kind == ParameterKind::Trained)
    );
}

/// The small model, whose first result is normalized in groups, as PyTorch's default exporter writes it.
fn normalized_in_groups(ones: &[f32]) -> ModelProto {
    changed(|graph| {
        graph.initializer = vec![
            floats("ones", &[2], ones),
            floats("zeros", &[2], &[0.0; 2]),
            floats("scale", &[4, 1], &[1.0; 4]),
            floats("bias", &[4, 1], &[0.0; 4]),
            floats("head", &[8, 2], &[0.5; 16]),
            integers("in_groups", &[0, 2, -1]),
            integers("in_channels", &[0, 4, -1]),
            integers("flat", &[0, 8]),
        ];
        graph.input[0] =
            ModelProto::decode(&build::mlp(&[8, 2], 1)[..]).unwrap().graph.unwrap().input.remove(0);
        let named = |name: &str, node: NodeProto| NodeProto { name: name.into(), ..node };
        graph.node = vec![
            node("Reshape", &["input", "in_groups"], "groups", vec![]),
            node("InstanceNormalization", &["groups", "ones", "zeros"], "normalized", vec![]),
            node("Reshape", &["normalized", "in_channels"], "channels", vec![]),
            named("scaling", node("Mul", &["channels", "scale"], "scaled", vec![])),
            node("Add", &["scaled", "bias"], "sum", vec![]),
            node("Reshape", &["sum", "flat"], "features", vec![]),
            node("MatMul", &["features", "head"], "logits", vec![]),
        ];
    })
}

#[test]
fn only_the_scale_and_the_bias_of_the_channels_are_trained_in_a_group_normalization() {
    let file = import(&normalized_in_groups(&[1.0; 2])).unwrap();
    let (constant, trained) = (ParameterKind::Constant, ParameterKind::Trained);
    let expected =
        [("ones", constant), ("zeros", constant), ("scale", trained), ("bias", trained), ("head", trained)];
    assert_eq!(kinds(&file), expected);
    assert_eq!(words(&file), [("neutral", "ones"), ("neutral", "zeros")]);
    assert!(file.remarks()[0].to_string().contains("node scaling"), "{}", file.remarks()[0]);
    // A scale that is not neutral is the author's own, and so is a scale that no other scale follows.
    assert_eq!(kinds(&import(&normalized_in_groups(&[1.0, 2.0])).unwrap())[0], ("ones", trained));
    let mut model = normalized_in_groups(&[1.0; 2]);
    let graph = model.graph.as_mut().unwrap();
    graph.node.drain(3..5);
    graph.node[3].input[0] = "channels".into();
    assert_eq!(kinds(&import(&model).unwrap())[..2], [("ones", trained), ("zeros", trained)]);
    // An exporter may have merged the constant with a weight.
    let mut model = normalized_in_groups(&[1.0; 2]);
    let graph = model.graph.as_mut().unwrap();
    graph.initializer.push(floats("gain", &[1, 1], &[1.0]));
    graph.initializer.retain(|tensor| !["scale", "bias"].contains(&tensor.name.as_str()));
    graph.initializer.push(floats("factor", &[4, 2], &[0.5; 8]));
    graph.node[3].input[1] = "ones".into();
    graph.node[4].input[1] = "factor".into();
    let file = import(&model).unwrap();
    assert_eq!(kinds(&file)[..2], [("ones", constant), ("ones@scaling", trained)]);
}

#[test]
fn normalizations_that_an_exporter_merged_are_reported() {
    let numbered = |names: [&str; 2], scale: &[f32]| {
        let mut model = merged();
        let graph = model.graph.as_mut().unwrap();
        (graph.node[1].name, graph.node[3].name) = (names[0].into(), names[1].into());
        graph.initializer[2] = floats("n.weight", &[2], scale);
        let file = import(&model).unwrap();
        let merged = file.remarks().iter().filter(|remark| remark.kind() == "merged");
        merged.map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = numbered(["node_layer_norm", "node_layer_norm_2"], &[1.0; 2]);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with("n.weight may stand for several normalisations: between node_layer_norm and"),
        "{said:?}"
    );
    let none: [&str; 0] = [];
    assert_eq!(numbered(["node_layer_norm", "node_layer_norm_1"], &[1.0; 2]), none);
    assert_eq!(numbered(["node_layer_norm", "node_layer_norm_x"], &[1.0; 2]), none);
    // Normalizations with other weights were not equal.
    assert_eq!(numbered(["node_layer_norm", "node_layer_norm_2"], &[1.0, 2.0]), none);
}

#[test]
fn a_batch_normalization_that_is_written_as_arithmetic_is_reported() {
    let with = |sizes: [i64; 3]| {
        changed(|graph| {
            let [mean, scale, shift] = sizes.map(|size| floats("", &[1, size], &vec![0.5; size as usize]));
            let tensors = [("mean", mean), ("scale", scale), ("shift", shift)];
            graph
                .initializer
                .extend(tensors.map(|(name, tensor)| TensorProto { name: name.into(), ..tensor }));
            graph.node.splice(
                1..1,
                [
                    node("Sub", &["layer_1.sum", "mean"], "difference", vec![]),
                    node("Mul", &["difference", "scale"], "product", vec![]),
                    node("Add", &["product", "shift"], "normalized", vec![]),
                ],
            );
            graph.node[4].input[0] = "normalized".into();
        })
    };
    assert_eq!(words(&import(&with([3, 3, 3])).unwrap()), [("running_statistics", "mean")]);
    let others = import(&with([3, 3, 1])).unwrap();
    assert!(words(&others).iter().all(|(kind, _)| *kind != "running_statistics"), "{:?}", words(&others));
}

#[test]
fn a_weight_that_is_stored_twice_is_reported() {
    let tied = |last: &[f32]| {
        changed(|graph| {
            graph.initializer = vec![
                floats("table", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                floats("first", &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
                floats("last", &[2, 3], last),
            ];
            graph.node = vec![
                node("MatMul", &["input", "first"], "hidden", vec![]),
                node("MatMul", &["hidden", "last"], "scores", vec![]),
                node("MatMul", &["scores", "table"], "logits", vec![]),
            ];
        })
    };
    assert_eq!(words(&import(&tied(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0])).unwrap()), [("copied", "last")]);
    assert_eq!(words(&import(&tied(&[1.0, 3.0, 5.0, 2.0, 4.0, 7.0])).unwrap()), []);
}
