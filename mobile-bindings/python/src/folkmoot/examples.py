"""The examples of this device."""

from __future__ import annotations

from typing import Any, Literal

from . import _buffers, errors
from ._buffers import ArrayLike
from ._native import folkmoot_mobile as native


class Examples:
    """The examples of this machine, which never leave it. They are only in memory: add them again after a restart."""

    def __init__(self, examples: native.ExampleSet) -> None:
        self._native = examples

    def add(self, x: ArrayLike, y: ArrayLike, *, labels: Literal["classes", "targets"] | None = None) -> None:
        """Adds examples for the next run: all of them, or none if there is an error.

        `x` has the shape `[examples, ...]`, and `y` the shape `[examples]` or `[examples, labels per example]`. Both
        may be NumPy arrays or nested lists. Integers in `y` are classes and other numbers are targets, unless `labels`
        overrides this. Values are stored as float32; classes are exact up to 2**24.

        Raises BadExampleError if the shapes do not match, or a value is not finite.
        """
        kind = kind_of_labels(y, labels)
        features, shape = _buffers.filled(x)
        values, label_shape = _buffers.filled(y)
        if not shape or not label_shape or shape[0] != label_shape[0]:
            raise errors.BadExampleError(
                f"x has the shape {shape} and y has {label_shape}; the first dimensions must be equal"
            )
        per_example = 1
        for size in label_shape[1:]:
            per_example *= size
        label_kind = native.LabelKind.CLASSES if kind == "classes" else native.LabelKind.TARGETS
        with errors.translating():
            self._native.add(features, list(shape[1:]) or [1], values, label_kind, per_example)

    def clear(self) -> None:
        """Removes all examples. A current run continues with the examples that it started with."""
        self._native.clear()

    def __len__(self) -> int:
        return self._native.count()


def kind_of_labels(y: ArrayLike, labels: str | None) -> str:
    """Returns `classes` or `targets`, as given in `labels`. By default, integers are classes.

    Raises BadOptionError for any other value of `labels`.
    """
    kind = labels or ("classes" if _are_whole(y) else "targets")
    if kind not in ("classes", "targets"):
        raise errors.BadOptionError(f"labels is {labels!r}; it must be 'classes' or 'targets'")
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
