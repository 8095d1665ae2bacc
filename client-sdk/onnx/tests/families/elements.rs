//! Elementwise operators, reductions and running sums.

use super::*;

/// `[N, 4, 4]` to `[N, 3]`.
pub(super) fn model() -> ModelProto {
    let with_axis = |name: &str, input: &str, output: &str| {
        node(name, &[input, "last"], output, vec![integer("keepdims", 1)])
    };
    let nodes = vec![
        node("MatMul", &["x", "W"], "y", vec![]),
        node("Sin", &["y"], "sine", vec![]),
        node("Cos", &["y"], "cosine", vec![]),
        node("Mish", &["y"], "mish", vec![]),
        node("Mod", &["y", "modulus"], "rest", vec![integer("fmod", 1)]),
        node("Ceil", &["y"], "ceiling", vec![]),
        node("Round", &["y"], "rounded", vec![]),
        node("IsNaN", &["y"], "is_nan", vec![]),
        node("Where", &["is_nan", "sine", "cosine"], "chosen", vec![]),
        node("Trilu", &["sine", "diagonal"], "upper", vec![integer("upper", 1)]),
        node("CumSum", &["cosine", "axis"], "running", vec![integer("reverse", 1)]),
        with_axis("ReduceL1", "y", "l1"),
        with_axis("ReduceL2", "y", "l2"),
        with_axis("ReduceLogSumExp", "y", "log"),
        with_axis("ReduceSumSquare", "y", "squares"),
        with_axis("ReduceProd", "y", "product"),
        node(
            "Sum",
            &[
                "chosen", "mish", "rest", "ceiling", "rounded", "upper", "running", "l1", "l2", "log",
                "squares", "product",
            ],
            "sum",
            vec![],
        ),
        node("Flatten", &["sum"], "flat", vec![]),
        node("MatMul", &["flat", "V"], "logits", vec![]),
    ];
    let initializers = vec![
        weights("W", &[4, 4]),
        weights("V", &[16, 3]),
        floats("modulus", &[4], &[0.75, 0.5, 1.5, 2.0]),
        integers_of("diagonal", &[], &[1]),
        integers_of("axis", &[], &[1]),
        integers("last", &[-1]),
    ];
    super::model(18, &[4, 4], nodes, initializers)
}
