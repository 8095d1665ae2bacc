//! Convolution and pooling over three dimensions.

use super::*;

/// `[N, 2, 5, 6, 4]` to `[N, 3]`.
pub(super) fn model() -> ModelProto {
    let nodes = vec![
        node(
            "Conv",
            &["x", "filter", "bias"],
            "features",
            vec![
                integer("group", 2),
                integer_list("strides", &[1, 2, 1]),
                integer_list("dilations", &[2, 1, 1]),
                integer_list("pads", &[1, 1, 1, 2, 1, 1]),
            ],
        ),
        node(
            "MaxPool",
            &["features"],
            "largest",
            vec![integer_list("kernel_shape", &[2, 2, 2]), integer_list("strides", &[1, 1, 2])],
        ),
        node(
            "AveragePool",
            &["largest"],
            "means",
            vec![integer_list("kernel_shape", &[2, 1, 2]), integer_list("pads", &[1, 0, 0, 0, 0, 1])],
        ),
        node("ConvTranspose", &["means", "back"], "larger", vec![integer_list("strides", &[2, 1, 2])]),
        node("Tanh", &["larger"], "bent", vec![]),
        node("GlobalAveragePool", &["bent"], "mean", vec![]),
        node("Flatten", &["mean"], "logits", vec![]),
    ];
    let initializers =
        vec![weights("filter", &[4, 1, 3, 3, 3]), weights("bias", &[4]), weights("back", &[4, 3, 3, 2, 2])];
    super::model(17, &[2, 5, 6, 4], nodes, initializers)
}
