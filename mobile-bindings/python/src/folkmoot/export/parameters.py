"""Gives a model the parameters of its module: names, values, and which of them are trained."""

from __future__ import annotations

import copy
from typing import Any

from . import graph
from .graph import ExportError


def name_tied(module: Any, model: Any) -> None:
    """Gives a tied parameter the first of its names, as `named_parameters` does. Exporters keep any of them."""
    firsts: dict[int, str] = {}
    renamed = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        first = firsts.setdefault(id(tensor), name)
        if first != name:
            renamed[name] = first
    for tensor in model.graph.initializer:
        tensor.name = renamed.get(tensor.name, tensor.name)
    for node in model.graph.node:
        _rename_reads(node, renamed)


def _rename_reads(node: Any, renamed: dict[str, str]) -> None:
    for index, name in enumerate(node.input):
        node.input[index] = renamed.get(name, name)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            _rename_reads(inner, renamed)


def statistics(model: Any) -> set[str]:
    """Returns the names of the running statistics of batch normalisations."""
    return {name for node in model.graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}


def place(torch: Any, module: Any, model: Any) -> None:
    """Stores trained tensors as initializers with the module's own values, and all others as constants.

    Raises ExportError if the output does not depend on a parameter.
    """
    onnx = graph.onnx()
    state = module.state_dict(keep_vars=True)
    values = {name: tensor.detach().cpu() for name, tensor in state.items()}
    # Look up all names of a parameter: a tied one has several, which `named_parameters` can list only since PyTorch
    # 2.0.
    parameters = {name: one for name, one in state.items() if isinstance(one, torch.nn.Parameter)}
    trained = {name for name, tensor in parameters.items() if tensor.requires_grad}
    floats = onnx.TensorProto.FLOAT
    running = statistics(model)
    kept, constants = [], []
    for tensor in model.graph.initializer:
        if tensor.name in values and tensor.data_type == floats:
            tensor.CopyFrom(onnx.numpy_helper.from_array(values[tensor.name].float().numpy(), tensor.name))
        if tensor.name in trained | running:
            kept.append(tensor)
        else:
            constants.append(graph.constant(tensor.name, tensor))
    _require_all_used(parameters, trained, {tensor.name for tensor in kept})
    kept = _in_order(kept, list(state))
    nodes = [*constants, *map(copy.deepcopy, model.graph.node)]
    copies = [copy.deepcopy(tensor) for tensor in kept]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(copies)
    model.graph.node.extend(nodes)


def _in_order(tensors: list[Any], names: list[str]) -> list[Any]:
    """Returns the tensors in the order of the module's names, which does not depend on the exporter."""
    positions = {name: position for position, name in enumerate(names)}
    return sorted(tensors, key=lambda tensor: positions.get(tensor.name, len(positions)))


def _require_all_used(tensors: dict[str, Any], trained: set[str], kept: set[str]) -> None:
    # The file contains tied weights only under one name.
    used = {id(tensors[name]) for name in trained & kept}
    unused = sorted(name for name in trained - kept if id(tensors[name]) not in used)
    if unused:
        raise ExportError(
            f"the output does not depend on {', '.join(unused)}: remove them from the module, or set requires_grad to False"
        )
