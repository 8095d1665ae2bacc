"""Arrays in memory that the native library owns. Passing them to the library needs at most one copy."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import errors
from ._native import folkmoot_mobile as native

numpy: Any
try:
    import numpy
except ImportError:  # NumPy is optional; lists work without it.
    numpy = None

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:
    ArrayLike = Any

__all__ = ["ArrayLike", "filled", "numbers", "numpy", "view", "zeros"]


def filled(values: ArrayLike) -> tuple[native.FloatBuffer, tuple[int, ...]]:
    """Returns a buffer with these numbers as float32 in row-major order, and their shape."""
    if numpy is not None:
        given = numpy.asarray(values)
        if given.dtype.kind not in "biuf":
            raise errors.BadExampleError(
                f"the values have the type {given.dtype}; give numbers, in rows of equal length"
            )
        buffer = zeros(given.size)
        # Converts and copies in one pass, for any type and strides.
        numpy.copyto(view(buffer, given.shape), given, casting="unsafe")
        return buffer, given.shape
    shape = shape_of(values)
    flat = array("f", flattened(values, shape))
    buffer = zeros(len(flat))
    if flat:
        ctypes.memmove(buffer.address(), flat.buffer_info()[0], 4 * len(flat))
    return buffer, shape


def zeros(count: int) -> native.FloatBuffer:
    """Returns a buffer of `count` zeros."""
    with errors.translating():
        return native.FloatBuffer.zeros(count)


def view(buffer: native.FloatBuffer, shape: Sequence[int]) -> Any:
    """Returns the buffer's memory as a NumPy array of this shape, without a copy. The array keeps the buffer alive."""
    count = buffer.count()
    if count == 0:
        return numpy.zeros(tuple(shape), dtype=numpy.float32)
    memory = (ctypes.c_float * count).from_address(buffer.address())
    memory.owner = buffer  # type: ignore[attr-defined]
    return numpy.ctypeslib.as_array(memory).reshape(tuple(shape))


def numbers(buffer: native.FloatBuffer, shape: Sequence[int]) -> Any:
    """Returns the buffer's values: a NumPy array if NumPy is installed, otherwise nested lists."""
    if numpy is not None:
        return view(buffer, shape)
    flat = array("f", buffer.to_bytes())
    return nested(list(flat), tuple(shape))


def shape_of(values: Any) -> tuple[int, ...]:
    """Returns the shape of nested sequences, judged by their first elements."""
    shape = []
    while not isinstance(values, (int, float)):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def flattened(values: Any, shape: tuple[int, ...]) -> list[float]:
    """Returns the numbers of nested sequences in row-major order.

    Raises BadExampleError if rows differ in length.
    """
    rows = [values]
    for size in shape:
        if any(len(row) != size for row in rows):
            raise errors.BadExampleError(f"rows differ in length; each must have {size} values")
        rows = [value for row in rows for value in row]
    return rows


def nested(flat: list[float], shape: tuple[int, ...]) -> Any:
    """Reverses `flattened`."""
    for size in reversed(shape[1:]):
        flat = [flat[start : start + size] for start in range(0, len(flat), size)]  # type: ignore[misc]
    return flat
