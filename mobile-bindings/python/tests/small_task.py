"""A small task for tests: its model and its description."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import TensorProto, helper, numpy_helper

PROGRAM = os.environ.get("FOLKMOOT_PROGRAM", "folkmoot")


def linear_model(path: Path, weight, bias) -> Path:
    """Writes the model `y = x · weight + bias`."""
    inputs, outputs = weight.shape
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weight", "bias"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", outputs])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def task_text(
    name: str,
    *,
    report_goal: int,
    rounds: int,
    loss: str = "mean_squared_error",
    plan: str = "",
    settings: str = "",
) -> str:
    """Returns a task whose rounds take all clients. `settings` are tables of their own."""
    return f"""
name = "{name}"
population = "{name}"

[plan]
loss = "{loss}"
epochs = 1
batch_size = 8
optimizer = {{ sgd = {{ learning_rate = 0.1 }} }}
{plan}

[scheduling]
kind = "synchronous"
report_goal = {report_goal}
minimum_cohort = {report_goal}
over_selection_factor = 1.0
reporting_deadline_seconds = 120
{settings}
[stop]
rounds = {rounds}
"""
