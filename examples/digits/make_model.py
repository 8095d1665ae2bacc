#!/usr/bin/env python3
"""Makes model.onnx: a multilayer perceptron 64-64-10 for 8x8 grey digits.

    pip install onnx numpy
    python3 make_model.py

The pixels are 0 to 16. The graph scales them by a Constant node, which training leaves alone; the four
initializers are trained. The weights are drawn after He et al. 2015, from a fixed seed, so the file is
always the same.
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


def main():
    generator = np.random.Generator(np.random.PCG64(SEED))
    initializers = []
    for layer, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:]), start=1):
        initializers += dense(generator, layer, inputs, outputs)

    scale = numpy_helper.from_array(np.array(1.0 / PIXEL_MAX, dtype=np.float32), "pixel_scale")
    nodes = [
        helper.make_node("Constant", [], ["pixel_scale"], "pixel_scale", value=scale),
        helper.make_node("Mul", ["input", "pixel_scale"], ["scaled"], "scale"),
        helper.make_node("Gemm", ["scaled", "layer_1.weight", "layer_1.bias"], ["hidden"], "layer_1", transB=1),
        helper.make_node("Relu", ["hidden"], ["activated"], "activation"),
        helper.make_node("Gemm", ["activated", "layer_2.weight", "layer_2.bias"], ["logits"], "layer_2", transB=1),
    ]
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
    path = Path(__file__).with_name("model.onnx")
    path.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
