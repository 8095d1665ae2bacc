#!/usr/bin/env python3
"""Makes linear_svm.onnx: 30 standardised features to one score, whose sign is the class.

A support vector machine is this model trained with the hinge loss and weight decay.
"""

from common import ModelBuilder

SEED = 2


def main():
    model = ModelBuilder("linear_svm", SEED, [30])
    weight = model.normal("score.weight", (30, 1), 30, gain=0.25)
    bias = model.weight("score.bias", [0.0])
    product = model.node("MatMul", ["input", weight], "product")
    model.save(model.node("Add", [product, bias], "score"), [1])


if __name__ == "__main__":
    main()
