#!/usr/bin/env python3
"""Makes recommender.onnx: the logit that a user likes an item, by matrix factorization (Koren et al. 2009).

A row of the input is a user's number and an item's number, as floats.
"""

from common import ModelBuilder
from onnx import TensorProto

SEED = 11
USERS = 50
ITEMS = 80
FACTORS = 8


def add_side(model, name, count, column):
    """Looks up one column's factors `[N, 8]` and bias `[N, 1]`."""
    number = model.node("Gather", ["numbers", model.constant(f"{name}.column", column)], f"{name}.number", axis=1)
    table = model.normal(f"{name}.factors", (count, FACTORS), 1, gain=0.25)
    biases = model.normal(f"{name}.biases", (count, 1), 1, gain=0.01)
    factors = model.node("Gather", [table, number], f"{name}.factors_read", axis=0)
    return factors, model.node("Gather", [biases, number], f"{name}.bias_read", axis=0)


def main():
    model = ModelBuilder("recommender", SEED, [2])
    model.node("Cast", ["input"], "numbers", to=TensorProto.INT64)
    user_factors, user_bias = add_side(model, "user", USERS, 0)
    item_factors, item_bias = add_side(model, "item", ITEMS, 1)
    products = model.node("Mul", [user_factors, item_factors], "products")
    affinity = model.node("ReduceSum", [products, model.constant("factor_axis", [1])], "affinity", keepdims=1)
    value = model.node("Add", [affinity, user_bias], "with_user_bias")
    value = model.node("Add", [value, item_bias], "with_item_bias")
    model.save(model.node("Add", [value, model.weight("bias", [0.0])], "logit"), [1])


if __name__ == "__main__":
    main()
