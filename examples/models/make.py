#!/usr/bin/env python3
"""Writes every model in this folder.

pip install onnx numpy
python3 make.py
"""

import importlib

MODELS = [
    "logistic_regression",
    "linear_svm",
    "mlp",
    "residual_cnn_batch_norm",
    "residual_cnn_group_norm",
    "depthwise_cnn",
    "autoencoder",
    "char_lstm",
    "gru",
    "transformer",
    "recommender",
]


def main():
    for model in MODELS:
        importlib.import_module(model).main()


if __name__ == "__main__":
    main()
