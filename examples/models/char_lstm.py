#!/usr/bin/env python3
"""Makes char_lstm.onnx: predicts the next character at each of 16 positions with an LSTM."""

import numpy as np
from common import ModelBuilder
from onnx import TensorProto

SEED = 8
POSITIONS = 16
VOCABULARY = 32
EMBEDDING = 16
HIDDEN = 32


def main():
    model = ModelBuilder("char_lstm", SEED, [POSITIONS])
    tokens = model.node("Cast", ["input"], "tokens", to=TensorProto.INT64)
    table = model.normal("embedding", (VOCABULARY, EMBEDDING), 1, gain=0.25)
    embedded = model.node("Gather", [table, tokens], "embedded", axis=0)

    # ONNX has time before batch, and keeps an axis for the directions.
    by_time = model.node("Transpose", [embedded], "by_time", perm=[1, 0, 2])
    bound = 1.0 / np.sqrt(HIDDEN)
    operands = [
        by_time,
        model.uniform("lstm.input_weight", (1, 4 * HIDDEN, EMBEDDING), bound),
        model.uniform("lstm.recurrent_weight", (1, 4 * HIDDEN, HIDDEN), bound),
        model.uniform("lstm.bias", (1, 8 * HIDDEN), bound),
    ]
    states = model.node("LSTM", operands, "states", hidden_size=HIDDEN)
    states = model.node("Squeeze", [states, model.constant("direction_axis", [1])], "states_by_time")
    states = model.node("Transpose", [states], "states_by_example", perm=[1, 0, 2])
    model.save(model.linear("logits", states, HIDDEN, VOCABULARY), [POSITIONS, VOCABULARY])


if __name__ == "__main__":
    main()
