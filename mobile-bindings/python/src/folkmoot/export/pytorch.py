"""Exports PyTorch modules as trainable ONNX."""

from __future__ import annotations

import logging
import os
import re
from typing import Any

from ..errors import BadOptionError
from . import graph, parameters, tracing
from .graph import Exported, ExportError
from .padding import keep_padding
from .repairs import repair
from .tracing import Inputs

EXPORTERS = ("auto", "dynamo", "classic")
"""The ways in which PyTorch reads a module: by `torch.export`, by TorchScript, or by the first of them that works."""

_log = logging.getLogger("folkmoot.export")


def to_onnx(
    module: Any,
    example_input: Any,
    path: str | os.PathLike[str],
    *,
    free_length: int | None = None,
    opset: int | None = None,
    exporter: str = "auto",
) -> Exported:
    """Exports a module as ONNX. Parameters become initializers with their names, the batch size is free, and the loss
    is computed from the first output.

    `example_input` is a tensor `[rows, ...]`, or a tuple of tensors for a module with several inputs, in the order of
    its parameters. Only shapes and types matter. With several inputs, a row of examples has the numbers of the first,
    then those of the second, and so on. `free_length` is a dimension that is also free in every input that has it,
    usually 1 for the length of sequences; every client's examples then determine the length. Parameters that require a
    gradient are trained, and running statistics of batch normalisation are updated. Other parameters and buffers become
    constants. Dropout and batch normalisation stay in the graph and are active in training. The output must be logits:
    a softmax at the end is refused, because it belongs to the loss. The row of an embedding's `padding_idx` is not
    trained by looking it up. The module is not changed.

    `exporter` selects how PyTorch reads the module. `"dynamo"` is PyTorch's default exporter (`torch.export`), which
    reads current models of transformers; it needs PyTorch 2.9 and onnxscript, and an operator set of at least 18.
    `"classic"` is the older one (TorchScript). `"auto"` tries the default one first, then the older one; `exporter` of
    the result says which one wrote the file, and the log says why. `opset` is the operator set, by default 18, or 17
    with the older exporter.

    Raises ExportError if the module cannot be exported, and BadOptionError if a package is missing.
    """
    torch = graph.needed("torch", "pip install torch")
    graph.onnx()
    if not isinstance(module, torch.nn.Module):
        raise BadOptionError(f"module is a {type(module).__name__}; it must be a torch.nn.Module")
    inputs = Inputs.of(torch, module, example_input, free_length)
    exporters, reason = _exporters(torch, exporter, opset)
    errors: list[ExportError] = []
    for name in exporters:
        try:
            target, shapes = graph.written(_model(torch, module, inputs, name, opset), path)
        except tracing.SpecializedError:
            raise
        except ExportError as error:
            errors.append(error)
            continue
        if errors:
            reason = str(errors[0])
        if reason:
            level = logging.WARNING if errors else logging.INFO
            _log.log(level, "PyTorch's older exporter wrote %s, not its default one: %s", target, reason)
        return Exported(target, shapes, exporter=name)
    raise _joined(errors, reason) from errors[0]


def _exporters(torch: Any, exporter: str, opset: int | None) -> tuple[list[str], str | None]:
    """Returns the exporters to try in order, and why the default one is not among them.

    Raises BadOptionError.
    """
    if exporter not in EXPORTERS:
        raise BadOptionError(f'exporter is "{exporter}"; it must be "auto", "dynamo" or "classic"')
    if opset is not None:
        graph.checked_opset(opset)
    if exporter == "classic":
        return ["classic"], None
    obstacle = tracing.why_not_dynamo(torch)
    if obstacle is None and opset is not None and opset < tracing.DYNAMO_OPSET:
        obstacle = f"it cannot write operator set {opset}; leave opset out, or set it to {tracing.DYNAMO_OPSET} or more"
    if exporter == "auto":
        return (["classic"], obstacle) if obstacle else (["dynamo", "classic"], None)
    if obstacle:
        raise BadOptionError(f'exporter = "dynamo" is PyTorch\'s default exporter, but {obstacle}')
    return ["dynamo"], None


def _model(torch: Any, module: Any, inputs: Inputs, exporter: str, opset: int | None) -> Any:
    """Returns the model of one exporter, ready to be trained.

    Raises ExportError.
    """
    if exporter == "dynamo":
        model = tracing.dynamo(torch, module, inputs, opset or tracing.DYNAMO_OPSET)
    else:
        model = tracing.classic(torch, module, inputs, opset or tracing.CLASSIC_OPSET)
    parameters.name_tied(module, model)
    _require_inputs(model, inputs.names)
    repair(model)
    _refuse_softmax(model)
    keep_padding(torch, module, model)
    parameters.place(torch, module, model)
    return model


def _joined(errors: list[ExportError], reason: str | None) -> ExportError:
    """Returns one error for all exporters that were tried."""
    # The exporters name the nodes differently.
    texts = list({re.sub(r"^node \S+: ", "", str(error)): str(error) for error in reversed(errors)}.values())[::-1]
    if len(texts) > 1:
        return ExportError(f"{texts[0]}. PyTorch's older exporter failed too: {texts[1]}")
    untried = f". PyTorch's default exporter was not tried: {reason}" if reason else ""
    return ExportError(texts[0] + untried)


def _require_inputs(model: Any, names: list[str]) -> None:
    read = {name for node in model.graph.node for name in node.input}
    kept = {value.name for value in model.graph.input}
    unused = [name for name in names if name not in kept & read]
    if unused == ["input"]:
        raise ExportError("the module does not use its input, so its output is the same for every example")
    if unused:
        raise ExportError(f"the module does not use {', '.join(unused)}; leave it out of example_input")


def _refuse_softmax(model: Any) -> None:
    for node in model.graph.node:
        if node.op_type in ("Softmax", "LogSoftmax") and model.graph.output[0].name in node.output:
            raise ExportError("the module ends with a softmax, which belongs to the loss; return the logits instead")
