"""Exports PyTorch modules as trainable ONNX."""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import BadOptionError
from . import graph
from .graph import Exported, ExportError

_ARITHMETIC = ("Add", "Sub", "Mul", "Mod")
_COMPUTED_ELEMENTS_MAX = 64
_SHOWN_CHARACTERS_MAX = 400

BATCH = 2
"""The number of rows of the example input for tracing. One row could be mistaken for a dimension of size 1."""


def to_onnx(
    module: Any,
    example_input: Any,
    path: str | os.PathLike[str],
    *,
    free_length: int | None = None,
    opset: int = 17,
) -> Exported:
    """Exports a module as ONNX. Parameters become initializers with their names, the batch size is free, and the loss
    is computed from the first output.

    `example_input` is a tensor `[rows, ...]`, or a tuple of tensors for a module with several inputs, in the order of
    its parameters. Only shapes and types matter. With several inputs, a row of examples has the numbers of the first,
    then those of the second, and so on. `free_length` is a dimension that is also free in every input that has it,
    usually 1 for the length of sequences; every client's examples then determine the length. Parameters that require a
    gradient are trained, and running statistics of batch normalisation are updated. Other parameters and buffers become
    constants. Dropout and batch normalisation stay in the graph and are active in training. The output must be logits:
    a softmax at the end is refused, because it belongs to the loss. The row of an embedding's `padding_idx` keeps its
    value: looking it up reads a constant. The module is not changed.

    Raises ExportError if the module cannot be exported, and BadOptionError if a package is missing.
    """
    graph.checked_opset(opset)
    torch = graph.needed("torch", "pip install torch")
    onnx = graph.onnx()
    if not isinstance(module, torch.nn.Module):
        raise BadOptionError(f"module is a {type(module).__name__}; it must be a torch.nn.Module")
    # Trace a copy, because tracing changes running statistics.
    traced = copy.deepcopy(module).to("cpu", torch.float32)
    rows = _rows(torch, example_input)
    names = _names(traced, len(rows))
    model = onnx.load_from_string(_traced(torch, traced, rows, _axes(names, rows, free_length), opset))
    _require_inputs(model, names)
    _take_modes_out(model)
    _compute_constants(onnx, model)
    _remove_unread(model)
    _refuse_softmax(model)
    _keep_padding(torch, onnx, module, model)
    _place_weights(torch, onnx, module, model)
    target, parameters = graph.written(model, path)
    return Exported(target, parameters)


def _rows(torch: Any, example: Any) -> tuple[Any, ...]:
    """Returns each input with two rows."""
    examples = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    if not examples or not all(isinstance(one, torch.Tensor) and one.dim() > 0 and len(one) > 0 for one in examples):
        raise BadOptionError(
            "example_input must be a tensor with a row for each example, or a tuple of such tensors for several inputs"
        )
    rows = [one[:1].detach().to("cpu") for one in examples]
    return tuple(torch.cat([row.to(torch.float32) if row.is_floating_point() else row] * BATCH) for row in rows)


def _names(module: Any, count: int) -> list[str]:
    """Returns the names of the inputs: `input` for a single one, otherwise those of the module's parameters."""
    if count == 1:
        return ["input"]
    parameters = list(inspect.signature(module.forward).parameters)
    if len(parameters) < count:
        raise BadOptionError(
            f"example_input has {count} tensors, but the module's forward takes {len(parameters)}; give one for each"
        )
    return parameters[:count]


def _axes(names: list[str], rows: tuple[Any, ...], free_length: int | None) -> dict[str, dict[int, str]]:
    """Returns the names of the free dimensions of each input and of the output."""
    axes = {name: {0: "N"} for name in [*names, "output"]}
    if free_length is None:
        return axes
    with_length = [name for name, one in zip(names, rows) if free_length < one.dim()]
    if free_length < 1 or not with_length:
        raise BadOptionError(f"free_length is {free_length}; it must be a dimension of an input after the batch")
    return axes | {name: {0: "N", free_length: "length"} for name in with_length}


def _traced(torch: Any, module: Any, rows: tuple[Any, ...], axes: dict[str, dict[int, str]], opset: int) -> bytes:
    """Returns PyTorch's ONNX file for training: nothing is fused, and weights keep their names."""
    options: dict[str, Any] = {
        "opset_version": opset,
        "input_names": [name for name in axes if name != "output"],
        "output_names": ["output"],
        "dynamic_axes": axes,
        "do_constant_folding": False,
        "training": torch.onnx.TrainingMode.TRAINING,
    }
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        # The dynamo exporter writes modules for inference: without dropout, and with fused normalisation.
        options["dynamo"] = False
    file = io.BytesIO()
    with _quiet():
        try:
            torch.onnx.export(module, rows, file, **options)
        except Exception as error:  # The module and the exporter can raise anything.
            # The lines after the first contain the whole graph.
            words = (str(error).splitlines() or [""])[0][:_SHOWN_CHARACTERS_MAX]
            raise ExportError(f"PyTorch cannot export the module: {type(error).__name__}: {words}") from error
    return file.getvalue()


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses warnings that do not matter here. Warnings about the module's own code are shown."""
    with warnings.catch_warnings():
        # Expected: the exporter is deprecated, PyTorch's own modules inspect shapes, batch counters are left out, and
        # the initial states of recurrent layers follow the batch.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", module=r"torch\.")
        for words in (".*num_batches_tracked", ".*with a batch_size other than 1"):
            warnings.filterwarnings("ignore", message=words)
        yield


def _require_inputs(model: Any, names: list[str]) -> None:
    read = {name for node in model.graph.node for name in node.input}
    kept = {value.name for value in model.graph.input}
    unused = [name for name in names if name not in kept & read]
    if unused == ["input"]:
        raise ExportError("the module does not use its input, so its output is the same for every example")
    if unused:
        raise ExportError(f"the module does not use {', '.join(unused)}; leave it out of example_input")


def _take_modes_out(model: Any) -> None:
    """Lets the engine set the training mode. A file with training mode on would also apply dropout in inference."""
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            kept = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
            del node.attribute[:], node.output[1:]
            node.attribute.extend(kept)
        elif node.op_type == "Dropout":
            del node.input[2:], node.output[1:]


def _compute_constants(onnx: Any, model: Any) -> None:
    """Evaluates small integer expressions of constants. PyTorch computes axes with operators that the engine does not
    support.
    """
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator
    known: dict[str, Any] = {}
    for node in model.graph.node:
        if node.op_type == "Constant":
            [attribute] = node.attribute
            if attribute.HasField("t") and attribute.t.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
                known[node.output[0]] = onnx.numpy_helper.to_array(attribute.t)
        elif node.op_type in _ARITHMETIC and all(name in known for name in node.input):
            given = {name: known[name] for name in node.input}
            if sum(value.size for value in given.values()) <= _COMPUTED_ELEMENTS_MAX:
                known[node.output[0]] = evaluator(node).run(None, given)[0]
                node.CopyFrom(graph.constant(node.output[0], known[node.output[0]]))


def _remove_unread(model: Any) -> None:
    read = {name for node in model.graph.node for name in node.input} | {value.name for value in model.graph.output}
    unread = [node for node in model.graph.node if node.op_type == "Constant" and not read.intersection(node.output)]
    for node in unread:
        model.graph.node.remove(node)


def _keep_padding(torch: Any, onnx: Any, module: Any, model: Any) -> None:
    """Lets a lookup of an embedding's `padding_idx` read a constant, so that the row is not trained.

    Raises ExportError if the table has other readers, which would train the row.
    """
    state = module.state_dict(keep_vars=True)
    for name, part in module.named_modules():
        if not isinstance(part, torch.nn.Embedding) or part.padding_idx is None or not part.weight.requires_grad:
            continue
        names = {other for other, tensor in state.items() if tensor is part.weight}
        for index, node in reversed(list(enumerate(model.graph.node))):
            if not names.intersection(node.input):
                continue
            if node.op_type != "Gather" or node.input[0] not in names:
                raise ExportError(
                    f"the embedding {name} has padding_idx={part.padding_idx}, but node {node.name} ({node.op_type}) "
                    "also reads its weight, so the row cannot be kept from training; set padding_idx=None to train it"
                )
            _insert_padding(onnx, model, index, part)


def _insert_padding(onnx: Any, model: Any, index: int, embedding: Any) -> None:
    """Inserts nodes behind a Gather node that replace the rows of `padding_idx` by a constant."""
    gather = model.graph.node[index]
    output, padding = gather.output[0], embedding.padding_idx
    rows, ids, wanted, mask, row, axis = (
        f"{output}.{word}" for word in ("rows", "ids", "padding_idx", "is_padding", "padding_row", "axis")
    )
    gather.output[0] = rows
    numpy_helper, make_node = onnx.numpy_helper, onnx.helper.make_node
    values = embedding.weight.detach().cpu().float().numpy()
    nodes = [
        graph.constant(wanted, numpy_helper.from_array(_int64(padding, ()), wanted)),
        graph.constant(axis, numpy_helper.from_array(_int64(-1, (1,)), axis)),
        graph.constant(row, numpy_helper.from_array(values[padding].copy(), row)),
        make_node("Cast", [gather.input[1]], [ids], ids, to=onnx.TensorProto.INT64),
        make_node("Equal", [ids, wanted], [f"{mask}.of_id"], f"{mask}.of_id"),
        make_node("Unsqueeze", [f"{mask}.of_id", axis], [mask], mask),
        make_node("Where", [mask, row, rows], [output], output),
    ]
    for offset, node in enumerate(nodes):
        model.graph.node.insert(index + 1 + offset, node)


def _int64(value: int, shape: tuple[int, ...]) -> Any:
    numpy = graph.needed("numpy", "pip install numpy")
    return numpy.full(shape, value, numpy.int64)


def _refuse_softmax(model: Any) -> None:
    for node in model.graph.node:
        if node.op_type in ("Softmax", "LogSoftmax") and model.graph.output[0].name in node.output:
            raise ExportError("the module ends with a softmax, which belongs to the loss; return the logits instead")


def _place_weights(torch: Any, onnx: Any, module: Any, model: Any) -> None:
    """Stores trained tensors as initializers with the module's own values, and all others as constants."""
    state = module.state_dict(keep_vars=True)
    values = {name: tensor.detach().cpu() for name, tensor in state.items()}
    # Look up all names of a parameter: a tied one has several, which `named_parameters` can list only since PyTorch
    # 2.0.
    parameters = {name: one for name, one in state.items() if isinstance(one, torch.nn.Parameter)}
    trained = {name for name, tensor in parameters.items() if tensor.requires_grad}
    statistics = {name for node in model.graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}
    floats = onnx.TensorProto.FLOAT
    kept, constants = [], []
    for tensor in model.graph.initializer:
        if tensor.name in values and tensor.data_type == floats:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name].float().numpy(), tensor.name))
        if tensor.name in trained | statistics:
            kept.append(tensor)
        else:
            constants.append(graph.constant(tensor.name, tensor))
    _require_all_used(parameters, trained, {tensor.name for tensor in kept})
    nodes = [*constants, *map(copy.deepcopy, model.graph.node)]
    copies = [copy.deepcopy(tensor) for tensor in kept]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(copies)
    model.graph.node.extend(nodes)


def _require_all_used(tensors: dict[str, Any], trained: set[str], kept: set[str]) -> None:
    # The file contains tied weights only under one name.
    used = {id(tensors[name]) for name in trained & kept}
    unused = sorted(name for name in trained - kept if id(tensors[name]) not in used)
    if unused:
        raise ExportError(
            f"the output does not depend on {', '.join(unused)}: remove them from the module, or set requires_grad to False"
        )
