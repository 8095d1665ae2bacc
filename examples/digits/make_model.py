#!/usr/bin/env python3
"""Writes two classifiers of 8x8 grey digits: model.onnx, a multilayer perceptron 64-64-10, and cnn.onnx, a
convolutional network (two 3x3 convolutions of 16 and 32 channels, max pooling, a dense layer).

    pip install onnx numpy
    python3 make_model.py

The pixels are 0 to 16. The graphs scale them with a Constant node, which training does not change; the
initializers are trained. The weights are drawn after He et al. 2015, from a fixed seed, so the files
are always the same.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20240607
WIDTHS = [64, 64, 10]
PIXEL_MAX = 16.0


def dense(generator, layer, inputs, outputs):
    weight = generator.normal(0.0, np.sqrt(2.0 / inputs), (outputs, inputs)).astype(np.float32)
    bias = np.zeros(outputs, dtype=np.float32)
    return [
        numpy_helper.from_array(weight, f"layer_{layer}.weight"),
        numpy_helper.from_array(bias, f"layer_{layer}.bias"),
    ]


def convolution(generator, layer, inputs, outputs):
    weight = generator.normal(0.0, np.sqrt(2.0 / (inputs * 9)), (outputs, inputs, 3, 3)).astype(np.float32)
    bias = np.zeros(outputs, dtype=np.float32)
    return [
        numpy_helper.from_array(weight, f"layer_{layer}.weight"),
        numpy_helper.from_array(bias, f"layer_{layer}.bias"),
    ]


def scaled_pixels():
    scale = numpy_helper.from_array(np.array(1.0 / PIXEL_MAX, dtype=np.float32), "pixel_scale")
    return [
        helper.make_node("Constant", [], ["pixel_scale"], "pixel_scale", value=scale),
        helper.make_node("Mul", ["input", "pixel_scale"], ["scaled"], "scale"),
    ]


def layer(operator, number, inputs, output, **attributes):
    names = [*inputs, f"layer_{number}.weight", f"layer_{number}.bias"]
    return helper.make_node(operator, names, [output], f"layer_{number}", **attributes)


def perceptron(generator):
    initializers = []
    for number, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:]), start=1):
        initializers += dense(generator, number, inputs, outputs)
    nodes = [
        *scaled_pixels(),
        layer("Gemm", 1, ["scaled"], "hidden", transB=1),
        helper.make_node("Relu", ["hidden"], ["activated"], "activation"),
        layer("Gemm", 2, ["activated"], "logits", transB=1),
    ]
    return nodes, initializers


def convolutional(generator):
    initializers = [
        *convolution(generator, 1, 1, 16),
        *convolution(generator, 2, 16, 32),
        *dense(generator, 3, 32 * 4 * 4, WIDTHS[-1]),
    ]
    image = numpy_helper.from_array(np.array([-1, 1, 8, 8], dtype=np.int64), "image_shape")
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        *scaled_pixels(),
        helper.make_node("Constant", [], ["image_shape"], "image_shape", value=image),
        helper.make_node("Reshape", ["scaled", "image_shape"], ["image"], "image"),
        layer("Conv", 1, ["image"], "edges", **same),
        helper.make_node("Relu", ["edges"], ["edges_activated"], "activation_1"),
        layer("Conv", 2, ["edges_activated"], "shapes", **same),
        helper.make_node("Relu", ["shapes"], ["shapes_activated"], "activation_2"),
        helper.make_node("MaxPool", ["shapes_activated"], ["pooled"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"),
        layer("Gemm", 3, ["flat"], "logits", transB=1),
    ]
    return nodes, initializers


def write(name, make):
    nodes, initializers = make(np.random.Generator(np.random.PCG64(SEED)))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", WIDTHS[0]])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", WIDTHS[-1]])],
        initializers,
    )
    model = helper.make_model(graph, producer_name="make_model.py", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    path = Path(__file__).with_name(name)
    path.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{path.name}: {path.stat().st_size} bytes")


def main():
    write("model.onnx", perceptron)
    write("cnn.onnx", convolutional)


if __name__ == "__main__":
    main()
