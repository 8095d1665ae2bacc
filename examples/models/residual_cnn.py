"""The residual network of residual_cnn_batch_norm.py and residual_cnn_group_norm.py.

Digits of 8x8 pixels, 0 to 16, arrive as rows of 64. A convolution, one residual block (He et al. 2016),
max pooling and global average pooling lead to 10 logits. Only the normalization differs, so that the
effect of averaging running statistics over clients can be seen by comparing the two.
"""

import numpy as np

CHANNELS = 8


def add_network(model, normalize):
    """Adds the whole network; `normalize(name, value)` adds one normalization. Returns the logits."""
    scale = model.constant("pixel_scale", 1.0 / 16.0, np.float32)
    scaled = model.node("Mul", ["input", scale], "scaled")
    image = model.node("Reshape", [scaled, model.constant("image_shape", [-1, 1, 8, 8])], "image")

    stem = add_normalized_convolution(model, normalize, "stem", image, 1)
    stem = model.node("Relu", [stem], "stem.activated")
    first = add_normalized_convolution(model, normalize, "block.1", stem, CHANNELS)
    first = model.node("Relu", [first], "block.1.activated")
    second = add_normalized_convolution(model, normalize, "block.2", first, CHANNELS)
    block = model.node("Relu", [model.node("Add", [second, stem], "block.sum")], "block.activated")

    smaller = model.node("MaxPool", [block], "smaller", kernel_shape=[2, 2], strides=[2, 2])
    average = model.node("GlobalAveragePool", [smaller], "average")
    features = model.node("Flatten", [average], "features", axis=1)
    return model.dense("logits", features, CHANNELS, 10)


def add_normalized_convolution(model, normalize, name, value, inputs):
    """Adds a convolution without a bias, because the normalization would cancel it."""
    convolved = model.convolution(f"{name}.convolution", value, inputs, CHANNELS, kernel=3)
    return normalize(f"{name}.normalization", convolved)
