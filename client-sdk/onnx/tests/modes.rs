//! Differences between training and inference, and the detection of running statistics.

use super::*;
use folkmoot_graph::Source;
use folkmoot_graph::op::{ElementOp, Op};
use folkmoot_onnx::{Lowered, Mode, ParameterKind};

/// The small model, with the first layer's result batch-normalized and then dropped out.
fn normalized() -> ModelProto {
    changed(|graph| {
        graph.initializer.extend([
            floats("scale", &[3], &[1.0; 3]),
            floats("bias", &[3], &[0.0; 3]),
            floats("mean", &[3], &[0.5; 3]),
            floats("variance", &[3], &[2.0; 3]),
            floats("ratio", &[], &[0.25]),
        ]);
        let inputs = ["layer_1.sum", "scale", "bias", "mean", "variance"];
        let attributes = vec![float("momentum", 0.75)];
        graph.node.insert(1, node("BatchNormalization", &inputs, "normalized", attributes));
        graph.node.insert(2, node("Dropout", &["normalized", "ratio"], "dropped", vec![]));
        graph.node[3].input[0] = "dropped".into();
    })
}

fn imported(model: &ModelProto) -> ModelFile {
    import(model).unwrap()
}

fn random_nodes(lowered: &Lowered) -> usize {
    lowered.graph.nodes.iter().filter(|node| matches!(node.op, Op::Random { .. })).count()
}

#[test]
fn running_statistics_are_told_from_weights_and_settings_are_neither() {
    let imported = imported(&normalized());
    let statistics: Vec<&str> = imported
        .parameters()
        .iter()
        .filter(|parameter| parameter.kind == ParameterKind::Statistic)
        .map(|parameter| parameter.name.as_str())
        .collect();
    assert_eq!(statistics, ["mean", "variance"]);
    assert!(imported.parameters().iter().all(|parameter| parameter.name != "ratio"));
}

#[test]
fn training_updates_statistics_and_drops_and_use_does_not() {
    let imported = imported(&normalized());
    let training = imported.lower(8, Mode::Training).unwrap();
    let updated: Vec<usize> = training.updates.iter().map(|(parameter, _)| *parameter).collect();
    assert_eq!(updated, [6, 7]);
    for (_, value) in &training.updates {
        assert_eq!(training.graph.shape(*value), [3]);
    }
    assert_eq!(random_nodes(&training), 1);
    let inference = imported.lower(8, Mode::Inference).unwrap();
    assert!(inference.updates.is_empty());
    assert_eq!(random_nodes(&inference), 0);
    let features = inference.graph.values.iter().find(|value| value.source == Source::Input(0)).unwrap();
    assert_eq!(features.shape, [8, 2]);
}

#[test]
fn batch_normalization_by_hand() {
    let normalize = |training: i64| {
        let attributes =
            vec![float("epsilon", 1.0), float("momentum", 0.75), integer("training_mode", training)];
        let mut layer =
            node("BatchNormalization", &["x", "scale", "bias", "mean", "variance"], "y", attributes);
        if training == 1 {
            layer.output.extend(["new_mean".into(), "new_variance".into()]);
        }
        let weights = vec![
            floats("scale", &[1], &[2.0]),
            floats("bias", &[1], &[1.0]),
            floats("mean", &[1], &[1.0]),
            floats("variance", &[1], &[3.0]),
        ];
        run(17, vec![layer], weights, &[tensor(&[2, 1, 1], &[1.0, 5.0])]).unwrap()
    };
    // With running statistics: (x - 1) / 2 · 2 + 1.
    expect_close(&normalize(0)[0].elements, &[1.0, 5.0]);
    // The batch has mean 3 and biased variance 4.
    let found = normalize(1);
    expect_close(&found[0].elements, &[1.0 - 4.0 / 5f64.sqrt(), 1.0 + 4.0 / 5f64.sqrt()]);
    expect_close(&found[1].elements, &[0.75 + 0.75]);
    expect_close(&found[2].elements, &[2.25 + 1.0]);
}

#[test]
fn frozen_statistics_are_used_in_training_and_do_not_change() {
    let imported = imported(&normalized());
    assert_eq!(imported.normalizations(), [[Some(4), Some(5), Some(6), Some(7)]]);
    for frozen in [6, 7] {
        let frozen: Vec<bool> = (0..imported.parameters().len()).map(|index| index == frozen).collect();
        let training =
            imported.lower_frozen(8, Mode::Training, &frozen, &imported.first_output().name).unwrap();
        assert!(training.updates.is_empty());
        let over_batch = |node: &folkmoot_graph::Node| {
            matches!(&node.op, Op::Reduce { .. }) && training.graph.shape(node.inputs[0])[0] == 8
        };
        assert!(!training.graph.nodes.iter().any(over_batch), "a mean over the batch");
    }
}

#[test]
fn shared_running_statistics_are_refused() {
    let mut model = normalized();
    let graph = model.graph.as_mut().unwrap();
    // Statistics of data, not the equal ones of a new model, which are separated.
    graph.initializer[6].float_data = vec![0.5, 0.25, 1.0];
    graph.node.insert(
        2,
        node("BatchNormalization", &["normalized", "scale", "bias", "mean", "variance"], "again", vec![]),
    );
    let error = import(&model).unwrap_err();
    assert!(error.to_string().contains("shares its running statistics"), "{error}");
}

#[test]
fn integers_may_be_features() {
    let model = changed(|graph| {
        let tensor_type = graph.input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap();
        tensor_type.elem_type = data_type::INT64;
        graph.node.insert(0, node("Cast", &["input"], "numbers", vec![integer("to", 1)]));
        graph.node[1].input[0] = "numbers".into();
    });
    let imported = imported(&model);
    let lowered = imported.lower(1, Mode::Inference).unwrap();
    assert!(!lowered.graph.nodes.iter().any(|node| node.op == Op::Element(ElementOp::Truncate)));
}
