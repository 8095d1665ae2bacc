#!/usr/bin/env python3
"""Makes gru.onnx: classifies a sequence of 12 readings of 4 sensors by the last state of a GRU."""

import numpy as np
from common import ModelBuilder

SEED = 9
POSITIONS = 12
SENSORS = 4
HIDDEN = 16
CLASSES = 3


def main():
    model = ModelBuilder("gru", SEED, [POSITIONS, SENSORS])
    by_time = model.node("Transpose", ["input"], "by_time", perm=[1, 0, 2])
    bound = 1.0 / np.sqrt(HIDDEN)
    operands = [
        by_time,
        model.uniform("gru.input_weight", (1, 3 * HIDDEN, SENSORS), bound),
        model.uniform("gru.recurrent_weight", (1, 3 * HIDDEN, HIDDEN), bound),
        model.uniform("gru.bias", (1, 6 * HIDDEN), bound),
    ]
    attributes = {"hidden_size": HIDDEN, "linear_before_reset": 1}
    _, last = model.node_with_outputs("GRU", operands, ["", "last_state"], **attributes)
    last = model.node("Squeeze", [last, model.constant("direction_axis", [0])], "features")
    model.save(model.dense("logits", last, HIDDEN, CLASSES, gain=1.0), [CLASSES])


if __name__ == "__main__":
    main()
