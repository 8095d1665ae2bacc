"""Keeps the row of an embedding's `padding_idx` from being trained by lookups."""

from __future__ import annotations

from typing import Any

from . import graph

_GRID_BITS = 40
"""Floats of at least 2^-17 are multiples of 2^-40. Smaller ones are rounded by less than 1e-12."""


def keep_padding(torch: Any, module: Any, model: Any) -> None:
    """Lets each lookup of a `padding_idx` read a row that it does not train.

    The row is a constant if the table is only looked up. A tied table has other readers, for example the last layer,
    which train the row in PyTorch too. Its lookups then read the row's present value without a gradient.
    """
    state = module.state_dict(keep_vars=True)
    for part in module.modules():
        if not isinstance(part, torch.nn.Embedding) or part.padding_idx is None or not part.weight.requires_grad:
            continue
        names = {other for other, tensor in state.items() if tensor is part.weight}
        readers = [(index, node) for index, node in enumerate(model.graph.node) if names.intersection(node.input)]
        lookups = [index for index, node in readers if node.op_type == "Gather" and node.input[0] in names]
        for index in reversed(lookups):
            _insert_padding(model, index, part, is_constant=len(lookups) == len(readers))


def _insert_padding(model: Any, index: int, embedding: Any, *, is_constant: bool) -> None:
    """Inserts nodes behind a Gather node that replace the rows of `padding_idx`."""
    onnx = graph.onnx()
    gather = model.graph.node[index]
    output, padding = gather.output[0], embedding.padding_idx
    rows, ids, wanted, mask, row, axis = (
        f"{output}.{word}" for word in ("rows", "ids", "padding_idx", "is_padding", "padding_row", "axis")
    )
    gather.output[0] = rows
    make_node = onnx.helper.make_node
    nodes = [
        graph.constant(wanted, graph.integers(padding, ())),
        graph.constant(axis, graph.integers(-1, (1,))),
        *(_constant_row(row, embedding) if is_constant else _present_row(row, gather.input[0], wanted)),
        make_node("Cast", [gather.input[1]], [ids], ids, to=onnx.TensorProto.INT64),
        make_node("Equal", [ids, wanted], [f"{mask}.of_id"], f"{mask}.of_id"),
        make_node("Unsqueeze", [f"{mask}.of_id", axis], [mask], mask),
        make_node("Where", [mask, row, rows], [output], output),
    ]
    for offset, node in enumerate(nodes):
        model.graph.node.insert(index + 1 + offset, node)


def _constant_row(row: str, embedding: Any) -> list[Any]:
    values = embedding.weight.detach().cpu().float().numpy()
    return [graph.constant(row, values[embedding.padding_idx].copy())]


def _present_row(row: str, table: str, wanted: str) -> list[Any]:
    """Returns nodes that read the row without a gradient. ONNX has no operator for this, so they round, which has no gradient."""
    numpy = graph.needed("numpy", "pip install numpy")
    make_node = graph.onnx().helper.make_node
    names = [f"{row}.{word}" for word in ("grid", "trained", "scaled", "rounded")]
    grid, trained, scaled, rounded = names
    return [
        graph.constant(grid, numpy.array(2.0**_GRID_BITS, numpy.float32)),
        make_node("Gather", [table, wanted], [trained], trained, axis=0),
        make_node("Mul", [trained, grid], [scaled], scaled),
        make_node("Floor", [scaled], [rounded], rounded),
        make_node("Div", [rounded, grid], [row], row),
    ]
