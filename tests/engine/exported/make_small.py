"""Writes small models: two that `folkmoot engine check` does not pass, one with a batch that has a name, and one for the
digits that only the complete importer reads.

Run with an interpreter that has onnx: python make_small.py. Tests of the engine, of inference and of the command read
the files.
"""

from pathlib import Path

import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parent


def floats(name, dims, values):
    return helper.make_tensor(name, TensorProto.FLOAT, dims, values)


WEIGHT = floats("weight", [2, 3], [0.5, -0.25, 1.0, 0.75, 0.125, -1.0])


def write(name, nodes, tensors, known=(), sizes=(2, 3)):
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", sizes[0]])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", sizes[1]])]
    graph = helper.make_graph(nodes, name, inputs, outputs, tensors, value_info=known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())


def main():
    # The loss does not depend on the threshold.
    threshold = [
        helper.make_node("MatMul", ["input", "weight"], ["sum"]),
        helper.make_node("Greater", ["sum", "threshold"], ["is_large"]),
        helper.make_node("Cast", ["is_large"], ["factor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["sum", "factor"], ["output"]),
    ]
    write("threshold", threshold, [WEIGHT, floats("threshold", [3], [-9.0, -8.0, -7.0])])
    # The row of the table is computed from the features.
    positions = [
        helper.make_node("ArgMax", ["input"], ["position"], axis=1, keepdims=0),
        helper.make_node("Gather", ["weight", "position"], ["output"]),
    ]
    write("positions", positions, [WEIGHT])
    # The shapes of intermediate results name the batch, as PyTorch's exporter writes them.
    named = [
        helper.make_node("MatMul", ["input", "weight"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["output"]),
    ]
    write("named_batch", named, [WEIGHT], [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["batch", 3])])
    # A number that is not a weight, and an operator that the small importer does not have.
    scaled = [
        helper.make_node("Mul", ["input", "sixteenth"], ["scaled"]),
        helper.make_node("Einsum", ["scaled", "weight"], ["output"], equation="bi,io->bo"),
    ]
    weight = [(index * 37 % 101 - 50) / 500 for index in range(640)]
    tensors = [floats("sixteenth", [], [0.0625]), floats("weight", [64, 10], weight)]
    write("scaled_digits", scaled, tensors, sizes=(64, 10))


main()
