#!/usr/bin/env python3
"""Makes logistic_regression.onnx: 30 standardised features to one logit."""

from common import ModelBuilder

SEED = 1


def main():
    model = ModelBuilder("logistic_regression", SEED, [30])
    model.save(model.dense("logit", "input", 30, 1, gain=0.25), [1])


if __name__ == "__main__":
    main()
