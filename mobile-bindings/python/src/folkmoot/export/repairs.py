"""Changes to a model that PyTorch exported, so that the engine reads it. None of them changes what the model computes."""

from __future__ import annotations

import importlib
from typing import Any

from . import graph

_FOLDED = frozenset("Add Sub Mul Mod Cast Concat Gather Identity Max Min Range Reshape Slice Squeeze Unsqueeze".split())
_COMPUTED_ELEMENTS_MAX = 64
_INT64_MAX = 2**63 - 1


def repair(model: Any) -> None:
    """Makes all changes in place."""
    _remove_traces(model)
    _take_modes_out(model)
    _compute_constants(model)
    _slice_sequences(model)
    _remove_whole_slices(model)
    _remove_unread(model)


def _remove_traces(model: Any) -> None:
    """Removes the lines of source code and the paths that PyTorch writes at every node, and derived shapes."""
    values = [*model.graph.input, *model.graph.output, *model.graph.initializer]
    for part in (model.graph, *model.graph.node, *values):
        part.doc_string = ""
        # Files of older operator sets have no such metadata, and neither have old versions of the package `onnx`.
        if hasattr(part, "metadata_props"):
            del part.metadata_props[:]
    del model.graph.value_info[:]


def _take_modes_out(model: Any) -> None:
    """Lets the engine set the training mode. A file with training mode on would also apply dropout in inference."""
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            kept = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
            del node.attribute[:], node.output[1:]
            node.attribute.extend(kept)
        elif node.op_type == "Dropout":
            del node.input[2:], node.output[1:]


def _compute_constants(model: Any) -> None:
    """Evaluates small integer expressions of constants. PyTorch computes axes and bounds from them, in part with
    operators that the engine does not support. Other programs do not see through them either.
    """
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator
    known = _integers(model)
    for node in model.graph.node:
        if node.op_type not in _FOLDED or any(name not in known for name in node.input):
            continue
        given = {name: known[name] for name in node.input}
        if sum(value.size for value in given.values()) > _COMPUTED_ELEMENTS_MAX:
            continue
        value = evaluator(node).run(None, given)[0]
        if value.dtype.kind == "i" and value.size <= _COMPUTED_ELEMENTS_MAX:
            known[node.output[0]] = value
            node.CopyFrom(graph.constant(node.output[0], value))


def _integers(model: Any) -> dict[str, Any]:
    """Returns the integer constants by name."""
    onnx, numpy = graph.onnx(), graph.needed("numpy", "pip install numpy")
    known = {}
    for node in model.graph.node:
        if node.op_type == "Constant":
            [attribute] = node.attribute
            if attribute.name in ("value_int", "value_ints"):
                value = attribute.i if attribute.name == "value_int" else list(attribute.ints)
                known[node.output[0]] = numpy.array(value, numpy.int64)
            elif attribute.name == "value" and attribute.t.data_type in (
                onnx.TensorProto.INT64,
                onnx.TensorProto.INT32,
            ):
                known[node.output[0]] = onnx.numpy_helper.to_array(attribute.t)
    return known


def _slice_sequences(model: Any) -> None:
    """Replaces each part of a split tensor by a slice. PyTorch's default exporter splits into a sequence of tensors,
    which the engine does not have.
    """
    make_node, known = graph.onnx().helper.make_node, _integers(model)
    splits = {node.output[0]: node for node in model.graph.node if node.op_type == "SplitToSequence"}
    nodes = []
    for node in model.graph.node:
        is_part = node.op_type == "SequenceAt" and node.input[0] in splits
        split = splits[node.input[0]] if is_part else node
        bounds = _bounds(split, known.get(node.input[1]), known) if is_part else None
        if bounds is None:
            nodes.append(node)
            continue
        names = [f"{node.output[0]}.{word}" for word in ("start", "end", "axis")]
        nodes.extend(graph.constant(name, graph.integers(bound, (1,))) for name, bound in zip(names, bounds))
        nodes.append(make_node("Slice", [split.input[0], *names], node.output, node.output[0]))
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _bounds(split: Any, position: Any, known: dict[str, Any]) -> tuple[int, int, int] | None:
    """Returns the start, the end and the axis of a part. None if one of them is not a constant."""
    attributes = {attribute.name: attribute.i for attribute in split.attribute}
    sizes = known.get(split.input[1]) if len(split.input) > 1 else None
    if sizes is None or position is None or position < 0 or attributes.get("keepdims", 1) != 1:
        return None
    axis, index = attributes.get("axis", 0), int(position)
    if sizes.ndim == 0:
        # A slice ends with its tensor, so a smaller last part needs no size.
        return index * int(sizes), (index + 1) * int(sizes), axis
    return int(sizes[:index].sum()), int(sizes[: index + 1].sum()), axis


def _remove_whole_slices(model: Any) -> None:
    """Replaces slices that take everything, as PyTorch's default exporter writes them for `x[:, 0]`. Tract, with which apps
    predict, loses the last row if the number of rows is free.
    """
    known = _integers(model)
    for node in model.graph.node:
        if node.op_type != "Slice" or len(node.input) < 3:
            continue
        wanted = {1: 0, 2: _INT64_MAX, 4: 1}  # The start, the end and the step.
        given = {place: known.get(name) for place, name in enumerate(node.input) if place in wanted and name}
        if all(values is not None and (values == wanted[place]).all() for place, values in given.items()):
            node.op_type = "Identity"
            del node.input[1:]


def _remove_unread(model: Any) -> None:
    """Removes nodes whose outputs are not read, for example counters of batches."""
    read = {value.name for value in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if read.intersection(node.output):
            read.update(_reads(node))
            kept.append(node)
    unread = [tensor for tensor in model.graph.initializer if tensor.name not in read]
    copies = [type(node).FromString(node.SerializeToString()) for node in reversed(kept)]
    del model.graph.node[:]
    model.graph.node.extend(copies)
    for tensor in unread:
        model.graph.initializer.remove(tensor)


def _reads(node: Any) -> set[str]:
    """Returns the names that a node reads, also inside of its branches and bodies."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names |= _reads(inner)
        names.update(value.name for value in attribute.g.output)
    return names
