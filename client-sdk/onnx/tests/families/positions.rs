//! Elements chosen by position, and `If` on a known condition.

use super::*;

/// `[N, 4]` to `[N, 3]`.
pub(super) fn model() -> ModelProto {
    let branch = |factor: &str| {
        vec![node("Mul", &["chosen", factor], "scaled", vec![]), node("Tanh", &["scaled"], "bent", vec![])]
    };
    let nodes = vec![
        node("MatMul", &["x", "W"], "y", vec![]),
        node("Shape", &["y"], "shape", vec![]),
        node("Gather", &["shape", "one"], "width", vec![]),
        node("Equal", &["width", "five"], "is_five", vec![]),
        node("Expand", &["order", "like"], "orders", vec![]),
        node("GatherElements", &["W", "orders"], "mixed", vec![integer("axis", 0)]),
        node("GatherND", &["mixed", "places"], "few", vec![]),
        node("ArgMax", &["y"], "largest", vec![integer("axis", 1), integer("keepdims", 0)]),
        node("OneHot", &["largest", "depth", "off_on"], "hot", vec![]),
        node("Mul", &["y", "hot"], "kept", vec![]),
        node("Add", &["kept", "few"], "chosen", vec![]),
        choice("is_five", "out", branch),
        node("MatMul", &["out", "V"], "logits", vec![]),
    ];
    let initializers = vec![
        weights("W", &[4, 5]),
        weights("V", &[5, 3]),
        integers_of("one", &[], &[1]),
        integers_of("five", &[], &[5]),
        integers_of("order", &[1, 5], &[3, -4, 1, 0, 2]),
        integers("like", &[2, 5]),
        integers_of("places", &[5, 2], &[0, 0, 1, 4, 0, 3, 1, 1, 1, 2]),
        integers_of("depth", &[], &[5]),
        floats("off_on", &[2], &[0.0, 1.0]),
    ];
    super::model(17, &[4], nodes, initializers)
}

#[test]
fn a_condition_that_depends_on_the_features_is_refused() {
    let error = refusal_of(model(), |model| {
        graph(model).node.insert(1, node("ReduceMax", &["y"], "is_large", vec![integer("keepdims", 0)]));
        graph(model).node.iter_mut().find(|node| node.op_type == "If").unwrap().input[0] = "is_large".into();
    });
    assert!(error.contains("chooses by is_large, which must be known when the model is imported"), "{error}");
}

#[test]
fn positions_outside_are_refused() {
    let error = refusal_of(model(), |model| {
        let order = graph(model).initializer.iter_mut().find(|tensor| tensor.name == "order").unwrap();
        order.int64_data[0] = 4;
    });
    assert!(error.contains("GatherElements reads position 4 of an axis of size 4"), "{error}");
}
