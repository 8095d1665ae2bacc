"""Writes linear models and perceptrons as trainable graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import graph
from .graph import ExportError

ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid", "identity": None}
"""The operator of each activation, under scikit-learn's names."""

Scale = tuple[Any, Any]
"""A mean that is subtracted and a deviation that divides, each `[features]` or None."""


def write(
    path: str | os.PathLike[str],
    weights: Sequence[Any],
    biases: Sequence[Any],
    *,
    activation: str = "identity",
    scales: Sequence[Scale] = (),
    names: Sequence[str] | None = None,
    opset: int = 17,
) -> tuple[Path, dict[str, tuple[int, ...]]]:
    """Writes a graph from `[N, features]` to `[N, outputs]`. Returns its path and the shapes of its weights by name.

    A weight has the shape `[outputs, inputs]`, and a bias `[outputs]`, or it is None. `names` names the
    layers, by default `layers(…)`. The activation follows each layer but the last. Scales come first, and are constants that are
    not trained.

    Raises ExportError if a number is not finite in float32.
    """
    writer = _Writer(graph.needed("numpy", "pip install numpy"))
    for mean, deviation in scales:
        writer.scale(mean, deviation)
    names = layers(len(weights)) if names is None else names
    operator = ACTIVATIONS[activation]
    for name, weight, bias in zip(names, weights, biases):
        is_last = name == names[-1]
        writer.dense(name, weight, bias, "output" if is_last else name)
        if operator is not None and not is_last:
            writer.activate(operator, f"{name}.activated")
    features, outputs = weights[0].shape[1], weights[-1].shape[0]
    model = graph.model(writer.nodes, writer.initializers, features, "output", outputs, opset=opset)
    return graph.written(model, path)


def layers(count: int) -> list[str]:
    """Returns the names of this many layers: `layer_1` and so on."""
    return [f"layer_{number}" for number in range(1, count + 1)]


class _Writer:
    """Appends nodes. Each node reads the previous node's output."""

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy
        self._value = "input"
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def scale(self, mean: Any, deviation: Any) -> None:
        """Adds a standardisation with constants."""
        place = len(self.nodes)
        for operator, name, values in (("Sub", "mean", mean), ("Div", "deviation", deviation)):
            if values is not None:
                constant = f"scaler_{place}.{name}"
                self.nodes.append(graph.constant(constant, self._numpy.asarray(values, self._numpy.float32)))
                self._node(operator, [self._value, constant], f"scaler_{place}.{operator}")

    def dense(self, name: str, weight: Any, bias: Any | None, output: str) -> None:
        """Adds a product with a weight of shape `[outputs, inputs]`, and a bias if there is one."""
        inputs = [self._value, self._weight(f"{name}.weight", weight)]
        if bias is not None:
            inputs.append(self._weight(f"{name}.bias", bias))
        self._node("Gemm", inputs, output, transB=1)

    def activate(self, operator: str, output: str) -> None:
        """Adds an activation."""
        self._node(operator, [self._value], output)

    def _weight(self, name: str, values: Any) -> str:
        rounded = self._numpy.ascontiguousarray(values, self._numpy.float32)
        if not self._numpy.isfinite(rounded).all():
            raise ExportError(
                f"{name} has a value that is NaN or infinite, so the estimator has diverged; fit it again"
            )
        self.initializers.append(graph.onnx().numpy_helper.from_array(rounded, name))
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self.nodes.append(graph.onnx().helper.make_node(operator, inputs, [output], output, **attributes))
        self._value = output
