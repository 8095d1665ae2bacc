"""Files that an operator uploads: task descriptions, models, and examples for evaluation."""

from __future__ import annotations

import importlib
import json
import os
import sys
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union

from .. import _buffers
from .._buffers import ArrayLike
from .._native import folkmoot_mobile as native
from ..errors import BadExampleError, BadOptionError, translating
from ..examples import kind_of_labels

Source = Union[str, "os.PathLike[str]"]
"""A path."""

CLASS_MAX = 2**32 - 1
"""The largest class number."""


def description(given: Mapping[str, Any] | str | os.PathLike[str]) -> dict[str, Any]:
    """Returns a task's description: a mapping unchanged, or the contents of a TOML file."""
    if isinstance(given, Mapping):
        return dict(given)
    try:
        toml = importlib.import_module("tomllib")
    except ImportError:  # Before Python 3.11.
        advice = "reading TOML needs Python 3.11 or newer; give the description as a dictionary"
        raise BadOptionError(f"{os.fspath(given)}: {advice}") from None
    try:
        read: dict[str, Any] = toml.loads(content(given).decode())
        return read
    except ValueError as error:
        raise BadOptionError(
            f"{os.fspath(given)} is not valid TOML: {error}; `folkmoot task check` shows the line"
        ) from None


def content(given: bytes | str | os.PathLike[str]) -> bytes:
    """Returns bytes unchanged, or reads a file."""
    if isinstance(given, bytes):
        return given
    try:
        return Path(given).read_bytes()
    except OSError as error:
        raise BadOptionError(f"{os.fspath(given)}: {error.strerror}") from None


def model(given: bytes | str | os.PathLike[str]) -> bytes:
    """Returns bytes unchanged, or reads an ONNX model together with the data files in which it stores weights."""
    if isinstance(given, bytes):
        return given
    with translating():
        onnx: bytes = native.read_model_file(os.fspath(given))
        return onnx


def examples(x: ArrayLike, y: ArrayLike, labels: Literal["classes", "targets"] | None) -> bytes:
    """Returns examples as a safetensors file: `features` in float32, and `labels` in u32 for classes or float32 for
    targets.

    `x` has the shape `[examples, ...]`, and `y` the shape `[examples]` or `[examples, labels per example]`.

    Raises BadExampleError if the shapes do not match, or a class is not an integer of 0 or more.
    """
    kind = kind_of_labels(y, labels)
    shape, features = _flat(x)
    label_shape, values = _flat(y)
    if not shape or not 1 <= len(label_shape) <= 2 or shape[0] != label_shape[0]:
        raise BadExampleError(
            f"x has the shape {shape} and y has {label_shape}; use [n, ...] for x, and [n] or [n, labels] for y"
        )
    if kind == "targets":
        return _safetensors(shape, features, "F32", [*label_shape, 1][:2], array("f", values))
    if any(value != int(value) or not 0 <= value <= CLASS_MAX for value in values):
        raise BadExampleError('a class is not an integer of 0 or more; correct y, or set labels="targets"')
    return _safetensors(shape, features, "U32", label_shape, array("I", (int(value) for value in values)))


def _flat(values: ArrayLike) -> tuple[list[int], list[float]]:
    if _buffers.numpy is None:
        shape = _buffers.shape_of(values)
        return list(shape), _buffers.flattened(values, shape)
    given = _buffers.numpy.asarray(values)
    if given.dtype.kind not in "biuf":
        raise BadExampleError(f"the values have the type {given.dtype}; give numbers, in rows of equal length")
    return list(given.shape), given.ravel().tolist()


def _safetensors(shape: list[int], features: list[float], kind: str, label_shape: list[int], labels: Any) -> bytes:
    rows = array("f", features)
    if sys.byteorder == "big":
        rows.byteswap()
        labels.byteswap()
    begin, end = 4 * len(rows), 4 * (len(rows) + len(labels))
    tensors = {
        "features": {"dtype": "F32", "shape": shape, "data_offsets": [0, begin]},
        "labels": {"dtype": kind, "shape": label_shape, "data_offsets": [begin, end]},
    }
    header = json.dumps(tensors).encode()
    # Align the data to eight bytes.
    header += b" " * (-len(header) % 8)
    data: bytes = rows.tobytes() + labels.tobytes()
    return len(header).to_bytes(8, "little") + header + data
