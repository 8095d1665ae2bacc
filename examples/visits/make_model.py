#!/usr/bin/env python3
"""Writes model.onnx, a multilayer perceptron 14-16-3 for the tables of this folder.

    pip install onnx numpy
    python3 make_model.py

The 14 inputs are the features of the schema of public.csv, and the outputs are its three classes. The weights are drawn
after He et al. 2015, from a fixed seed, so the file is always the same.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 20260501
WIDTHS = [14, 16, 3]


def main():
    generator = np.random.Generator(np.random.PCG64(SEED))
    nodes, initializers, value = [], [], "features"
    for number, (inputs, outputs) in enumerate(zip(WIDTHS, WIDTHS[1:]), start=1):
        weight = generator.normal(0.0, np.sqrt(2.0 / inputs), (outputs, inputs)).astype(np.float32)
        initializers.append(numpy_helper.from_array(weight, f"layer_{number}.weight"))
        initializers.append(numpy_helper.from_array(np.zeros(outputs, np.float32), f"layer_{number}.bias"))
        is_last = number == len(WIDTHS) - 1
        names = [value, f"layer_{number}.weight", f"layer_{number}.bias"]
        value = "scores" if is_last else f"hidden_{number}"
        nodes.append(helper.make_node("Gemm", names, [value], f"layer_{number}", transB=1))
        if not is_last:
            nodes.append(helper.make_node("Relu", [value], [f"activated_{number}"], f"activation_{number}"))
            value = f"activated_{number}"
    graph = helper.make_graph(
        nodes,
        "visits",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["N", WIDTHS[0]])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", WIDTHS[-1]])],
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
