//! A small U-Net: images are made smaller, and larger again by interpolation and by rearranging channels.

use super::*;

/// `[N, 2, 6, 6]` to `[N, 2, 12, 12]`.
pub(super) fn model() -> ModelProto {
    let padded = || vec![integer_list("pads", &[1, 1, 1, 1])];
    let resize = |mode: &'static str, coordinates: &'static str| {
        vec![
            text("mode", mode),
            text("coordinate_transformation_mode", coordinates),
            text("nearest_mode", "floor"),
        ]
    };
    let nodes = vec![
        node("SpaceToDepth", &["x"], "small", vec![integer("blocksize", 2)]),
        node("Conv", &["small", "down"], "features", padded()),
        node("Resize", &["features", "", "twice"], "nearest", resize("nearest", "asymmetric")),
        node("Resize", &["features", "", "twice"], "bilinear", resize("linear", "half_pixel")),
        node("Concat", &["nearest", "bilinear", "x"], "joined", vec![integer("axis", 1)]),
        node("Conv", &["joined", "up"], "wide", padded()),
        node("DepthToSpace", &["wide"], "rows", vec![integer("blocksize", 2), text("mode", "CRD")]),
        node("Resize", &["x", "", "twice"], "aligned", resize("linear", "align_corners")),
        node("Add", &["rows", "aligned"], "image", vec![]),
    ];
    let initializers = vec![
        weights("down", &[3, 8, 3, 3]),
        weights("up", &[8, 8, 3, 3]),
        floats("twice", &[4], &[1.0, 1.0, 2.0, 2.0]),
    ];
    super::model(13, &[2, 6, 6], nodes, initializers)
}
