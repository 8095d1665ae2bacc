#!/usr/bin/env python3
"""Makes residual_cnn_group_norm.onnx: a small residual network with GroupNormalization, for digits."""

import numpy as np
from common import ModelBuilder
from residual_cnn import CHANNELS, add_network

SEED = 5
GROUPS = 2


def main():
    model = ModelBuilder("residual_cnn_group_norm", SEED, [64], opset=21)

    def normalize(name, value):
        scale = model.weight(f"{name}.scale", np.ones(CHANNELS))
        bias = model.weight(f"{name}.bias", np.zeros(CHANNELS))
        return model.node("GroupNormalization", [value, scale, bias], name, epsilon=1e-5, num_groups=GROUPS)

    model.save(add_network(model, normalize), [10])


if __name__ == "__main__":
    main()
