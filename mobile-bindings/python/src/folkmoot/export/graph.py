"""What both ways to an ONNX file share: the operators that can be trained, and the file itself."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadOptionError, FolkmootError

OPSET_MIN, OPSET_MAX = 13, 21
"""Operator sets that can be asked for; the engine reads more (docs/operators.md)."""
IR_VERSION = 8

OPERATORS = frozenset(
    """
    Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast CastLike Clip Concat Constant ConstantOfShape Conv
    ConvTranspose Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather Gelu Gemm GlobalAveragePool
    GlobalMaxPool Greater GreaterOrEqual GroupNormalization HardSigmoid HardSwish Identity InstanceNormalization LSTM
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean Min Mul Neg Not Or PRelu Pad Pow
    RNN Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceSum Relu Reshape Selu Shape Sigmoid Sign Size Slice Softmax
    Softplus Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze Where Xor
    """.split()
)
"""What the engine imports, as docs/operators.md lists it."""


class ExportError(FolkmootError, ValueError):
    """A model cannot be written so that Folkmoot trains it: the text says what and why."""


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    path: Path
    """Where."""
    parameters: dict[str, tuple[int, ...]]
    """The shapes of the trained tensors by name, in the order in which they travel."""
    loss: str | None = None
    """The loss that a task over it most likely names; None where the model does not tell."""
    classes: list[Any] | None = None
    """The estimator's classes: the label of an example is the place in this list, from 0."""


def weights(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The weights of an ONNX file, as one that was downloaded: float32 arrays by name, in the order in which they travel.

    For a module of PyTorch they are its state by the names that `state_dict` has; what was not trained is left out.

    Raises BadOptionError if the file is no ONNX.
    """
    package = onnx()
    try:
        model = package.load_from_string(Path(path).read_bytes())
    except OSError as error:
        raise BadOptionError(f"{os.fspath(path)}: {error.strerror}") from None
    except Exception as error:  # Of protobuf's, which has several kinds of its own.
        raise BadOptionError(f"{os.fspath(path)} is no ONNX file: {error}") from None
    floats = [one for one in model.graph.initializer if one.data_type == package.TensorProto.FLOAT]
    return {one.name: package.numpy_helper.to_array(one).copy() for one in floats}


def needed(package: str, advice: str) -> Any:
    """The package, which is optional.

    Raises BadOptionError with the advice if it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise BadOptionError(f"{package} is needed and cannot be imported ({error}): {advice}") from None


def onnx() -> Any:
    """The package `onnx`."""
    return needed("onnx", "pip install onnx")


def checked_opset(opset: int) -> int:
    """The operator set, if it can be asked for.

    Raises BadOptionError.
    """
    if not OPSET_MIN <= opset <= OPSET_MAX:
        raise BadOptionError(f"opset is {opset}: {OPSET_MIN} to {OPSET_MAX} are expected")
    return opset


def constant(name: str, values: Any) -> Any:
    """A Constant node, which training leaves alone: an initializer of floats would be trained."""
    package = onnx()
    tensor = values if hasattr(values, "raw_data") else package.numpy_helper.from_array(values, name)
    return package.helper.make_node("Constant", [], [name], name, value=tensor)


def model(
    nodes: Sequence[Any], initializers: Sequence[Any], features: int, output: str, outputs: int, *, opset: int
) -> Any:
    """A model of rows of features, `[N, features]` to `[N, outputs]`, float32, in which `N` is free."""
    package = onnx()
    floats = package.TensorProto.FLOAT
    graph = package.helper.make_graph(
        list(nodes),
        "folkmoot",
        [package.helper.make_tensor_value_info("input", floats, ["N", features])],
        [package.helper.make_tensor_value_info(output, floats, ["N", outputs])],
        list(initializers),
    )
    sets = [package.helper.make_opsetid("", opset)]
    return package.helper.make_model(graph, producer_name="folkmoot", opset_imports=sets, ir_version=IR_VERSION)


def written(model: Any, path: str | os.PathLike[str]) -> tuple[Path, dict[str, tuple[int, ...]]]:
    """Checks a model and writes it; returns where, and the shapes of its weights by name.

    Raises ExportError if it is no ONNX, has nothing to train, or uses what the engine does not train.
    """
    package = onnx()
    for node in model.graph.node:
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        if operator not in OPERATORS:
            raise ExportError(
                f"node {node.name}: operator {operator} is not supported; docs/operators.md lists what is: "
                "write that part of the model with other operations"
            )
    try:
        package.checker.check_model(model, full_check=True)
    except Exception as error:  # The checker and the inference of shapes raise kinds of their own.
        raise ExportError(f"the model is no valid ONNX: {error}") from None
    floats = [one for one in model.graph.initializer if one.data_type == package.TensorProto.FLOAT]
    parameters = {one.name: tuple(one.dims) for one in floats}
    if not parameters:
        raise ExportError(
            "the model has no weights to train: its initializers of floats would be trained, and it has none"
        )
    target = Path(path)
    try:
        target.write_bytes(model.SerializeToString(deterministic=True))
    except OSError as error:
        raise BadOptionError(f"{target}: {error.strerror}") from None
    return target, parameters
