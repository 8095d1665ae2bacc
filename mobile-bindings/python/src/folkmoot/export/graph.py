"""Shared by both exporters: the supported operators, and the ONNX file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadOptionError, FolkmootError

OPSET_MIN, OPSET_MAX = 13, 21
"""The operator sets that an export can use. The engine can read more (docs/operators.md)."""
IR_VERSION = 8

OPERATORS = frozenset(
    """
    Abs Add And ArgMax ArgMin Attention AveragePool BatchNormalization Cast CastLike Ceil Clip Concat Constant
    ConstantOfShape Conv ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div Dropout Einsum Elu Equal Erf Exp
    Expand Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater
    GreaterOrEqual GroupNormalization HardSigmoid HardSwish Identity If InstanceNormalization IsInf IsNaN LSTM
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop MatMul Max MaxPool Mean Min Mish Mod Mul Neg Not
    OneHot Or PRelu Pad Pow RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize RotaryEmbedding Round Scan
    Selu Shape Sigmoid Sign Sin Size Slice Softmax Softplus SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tanh Tile
    Transpose Trilu Unsqueeze Upsample Where Xor
    """.split()
)
"""The operators that the engine imports, as listed in docs/operators.md."""


class ExportError(FolkmootError, ValueError):
    """A model cannot be exported in a form that Folkmoot can train. The text says which part and why."""


@dataclass(frozen=True)
class Exported:
    """An exported file."""

    path: Path
    """The path of the file."""
    parameters: dict[str, tuple[int, ...]]
    """The shapes of the trained tensors by name, in the order in which they travel."""
    loss: str | None = None
    """The loss that a task with this model most likely uses; None if it does not follow from the model."""
    classes: list[Any] | None = None
    """The estimator's classes. An example's label is the index in this list, from 0."""
    exporter: str | None = None
    """The exporter of PyTorch that read the module: `dynamo` or `classic`. None for an estimator."""


def weights(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the weights of an ONNX file, for example a downloaded one: float32 arrays by name, in the order in which
    they travel.

    For a PyTorch module, the names are those of its `state_dict`. Tensors that were not trained are left out.

    Raises BadOptionError if the file is not ONNX.
    """
    package = onnx()
    try:
        model = package.load_from_string(Path(path).read_bytes())
    except OSError as error:
        raise BadOptionError(f"{os.fspath(path)}: {error.strerror}") from None
    except Exception as error:  # Protobuf raises several exception types of its own.
        raise BadOptionError(f"{os.fspath(path)} is not an ONNX file: {error}") from None
    floats = [one for one in model.graph.initializer if one.data_type == package.TensorProto.FLOAT]
    return {one.name: package.numpy_helper.to_array(one).copy() for one in floats}


def needed(package: str, advice: str) -> Any:
    """Imports and returns an optional package.

    Raises BadOptionError if it is not installed; the text contains `advice`.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise BadOptionError(f"this function needs {package}, which cannot be imported ({error}): {advice}") from None


def onnx() -> Any:
    """The package `onnx`."""
    return needed("onnx", "pip install onnx")


def checked_opset(opset: int) -> int:
    """Returns the operator set if an export can use it.

    Raises BadOptionError.
    """
    if not OPSET_MIN <= opset <= OPSET_MAX:
        raise BadOptionError(f"opset is {opset}; it must be {OPSET_MIN} to {OPSET_MAX}")
    return opset


def constant(name: str, values: Any) -> Any:
    """Returns a Constant node, which is never trained. A float initializer would be trained."""
    package = onnx()
    tensor = values if hasattr(values, "raw_data") else package.numpy_helper.from_array(values, name)
    return package.helper.make_node("Constant", [], [name], name, value=tensor)


def integers(value: int, shape: tuple[int, ...]) -> Any:
    """Returns an array of this shape in which every element is `value`."""
    numpy = needed("numpy", "pip install numpy")
    return numpy.full(shape, value, numpy.int64)


def model(
    nodes: Sequence[Any], initializers: Sequence[Any], features: int, output: str, outputs: int, *, opset: int
) -> Any:
    """Returns a model from rows of features `[N, features]` to `[N, outputs]` in float32, with a free dimension `N`."""
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
    """Checks and writes a model. Returns its path and the shapes of its weights by name.

    Raises ExportError if the model is not valid ONNX, has nothing to train, or uses an operator that the engine cannot
    train.
    """
    package = onnx()
    # Every float initializer is a weight, and shared where the module shares it. Without this, the engine would decide.
    package.helper.set_model_props(model, {"folkmoot.weights": "explicit"})
    for node in model.graph.node:
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        if operator not in OPERATORS:
            raise ExportError(
                f"node {node.name}: operator {operator} is not supported; docs/operators.md lists the supported ones; "
                "rewrite that part of the model with other operations"
            )
    try:
        package.checker.check_model(model, full_check=True)
    except Exception as error:  # The checker and the shape inference raise exception types of their own.
        raise ExportError(f"the model is not valid ONNX: {error}") from None
    floats = [one for one in model.graph.initializer if one.data_type == package.TensorProto.FLOAT]
    parameters = {one.name: tuple(one.dims) for one in floats}
    if not parameters:
        raise ExportError("the model has no weights to train: trained weights are float initializers, and it has none")
    target = Path(path)
    try:
        target.write_bytes(model.SerializeToString(deterministic=True))
    except OSError as error:
        raise BadOptionError(f"{target}: {error.strerror}") from None
    return target, parameters
