#!/usr/bin/env python3
"""Makes mlp.onnx: a multilayer perceptron 64-32-10 with Gelu, for 8x8 grey digits of pixels 0 to 16."""

import numpy as np
from common import ModelBuilder

SEED = 3


def main():
    model = ModelBuilder("mlp", SEED, [64], opset=20)
    scale = model.constant("pixel_scale", 1.0 / 16.0, np.float32)
    scaled = model.node("Mul", ["input", scale], "scaled")
    hidden = model.dense("hidden", scaled, 64, 32)
    activated = model.node("Gelu", [hidden], "activated")
    model.save(model.dense("logits", activated, 32, 10), [10])


if __name__ == "__main__":
    main()
