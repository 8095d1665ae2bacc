"""The examples of this device."""

from __future__ import annotations

from typing import Any, Literal

from . import _buffers, errors
from ._buffers import ArrayLike
from ._native import folkmoot_mobile as native


class Examples:
    """The examples of this device, which never leave it. They are in memory: a program that starts again adds them again."""

    def __init__(self, examples: native.ExampleSet) -> None:
        self._native = examples

    def add(self, x: ArrayLike, y: ArrayLike, *, labels: Literal["classes", "targets"] | None = None) -> None:
        """Adds examples for the next run: all of them, or none.

        `x` has the shape `[examples, ...]`, `y` `[examples]` or `[examples, labels per example]`: NumPy arrays or nested
        lists. Whole numbers in `y` are classes and others are targets, unless `labels` says so. Values are kept as
        float32; classes are exact up to 2**24.

        Raises BadExampleError if shapes do not fit, or a value is not finite.
        """
        kind = kind_of_labels(y, labels)
        features, shape = _buffers.filled(x)
        values, label_shape = _buffers.filled(y)
        if not shape or not label_shape or shape[0] != label_shape[0]:
            raise errors.BadExampleError(f"x has the shape {shape} and y {label_shape}: the first dimensions differ")
        per_example = 1
        for size in label_shape[1:]:
            per_example *= size
        label_kind = native.LabelKind.CLASSES if kind == "classes" else native.LabelKind.TARGETS
        with errors.translating():
            self._native.add(features, list(shape[1:]) or [1], values, label_kind, per_example)

    def clear(self) -> None:
        """Takes all of them out. A run under way goes on with those that it began with."""
        self._native.clear()

    def __len__(self) -> int:
        return self._native.count()


def kind_of_labels(y: ArrayLike, labels: str | None) -> str:
    """`classes` or `targets`, as `labels` says; without it, whole numbers are classes.

    Raises BadOptionError for another word.
    """
    kind = labels or ("classes" if _are_whole(y) else "targets")
    if kind not in ("classes", "targets"):
        raise errors.BadOptionError(f"labels is {labels!r}: classes or targets are expected")
    return kind


def _are_whole(y: Any) -> bool:
    kind = getattr(getattr(y, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "iub"
    while isinstance(y, (list, tuple)) and y:
        if not isinstance(y[0], (list, tuple)):
            return all(isinstance(value, int) for value in y)
        y = y[0]
    return isinstance(y, int)
