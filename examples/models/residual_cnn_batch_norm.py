#!/usr/bin/env python3
"""Makes residual_cnn_batch_norm.onnx: a small residual network with BatchNormalization, for digits.

The running means and variances are initializers too. Training updates them, but not with the optimizer.
"""

import numpy as np
from common import ModelBuilder
from residual_cnn import CHANNELS, add_network

SEED = 4


def main():
    model = ModelBuilder("residual_cnn_batch_norm", SEED, [64])

    def normalize(name, value):
        operands = [
            value,
            model.weight(f"{name}.scale", np.ones(CHANNELS)),
            model.weight(f"{name}.bias", np.zeros(CHANNELS)),
            model.weight(f"{name}.running_mean", np.zeros(CHANNELS)),
            model.weight(f"{name}.running_variance", np.ones(CHANNELS)),
        ]
        return model.node("BatchNormalization", operands, name, epsilon=1e-5, momentum=0.9)

    model.save(add_network(model, normalize), [10])


if __name__ == "__main__":
    main()
