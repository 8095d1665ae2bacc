#!/usr/bin/env python3
"""Makes depthwise_cnn.onnx: depthwise separable convolutions with HardSwish (Howard et al. 2019), for digits.

Digits of 8x8 pixels, 0 to 16, arrive as rows of 64. The graph computes the image's shape from the
input's, as exporters do.
"""

import numpy as np
from common import ModelBuilder

SEED = 6


def add_image(model):
    """Scales the pixels and reshapes `[N, 64]` to `[N, 1, 8, 8]`."""
    scale = model.constant("pixel_scale", 16.0, np.float32)
    scaled = model.node("Div", ["input", scale], "scaled")
    shape = model.node("Shape", ["input"], "input_shape")
    batch = model.node("Gather", [shape, model.constant("batch_axis", 0)], "batch", axis=0)
    batch = model.node("Unsqueeze", [batch, model.constant("front", [0])], "batch_list")
    image_shape = model.node("Concat", [batch, model.constant("pixels_shape", [1, 8, 8])], "image_shape", axis=0)
    return model.node("Reshape", [scaled, image_shape], "image")


def add_activated(model, name, value, inputs, outputs, **window):
    """Adds a convolution with a bias, and HardSwish."""
    convolved = model.convolution(name, value, inputs, outputs, bias=True, **window)
    return model.node("HardSwish", [convolved], f"{name}.activated")


def add_separable(model, name, value, inputs, outputs):
    """Adds a depthwise convolution that halves the size, and a pointwise one that mixes the channels."""
    value = add_activated(model, f"{name}.depthwise", value, inputs, inputs, kernel=3, stride=2, groups=inputs)
    return add_activated(model, f"{name}.pointwise", value, inputs, outputs, kernel=1)


def main():
    model = ModelBuilder("depthwise_cnn", SEED, [64])
    value = add_activated(model, "stem", add_image(model), 1, 8, kernel=3)
    value = add_separable(model, "block.1", value, 8, 16)
    value = add_separable(model, "block.2", value, 16, 32)
    average = model.node("GlobalAveragePool", [value], "average")
    features = model.node("Flatten", [average], "features", axis=1)
    model.save(model.dense("logits", features, 32, 10), [10])


if __name__ == "__main__":
    main()
