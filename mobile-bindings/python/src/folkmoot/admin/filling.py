"""Fills the fields that the coordinator leaves out of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints, is_typeddict

_V = TypeVar("_V")


def filled(kind: type[_V], answer: Mapping[str, Any]) -> _V:
    """Returns the answer with None for each missing field of `kind`, nested fields included."""
    hints = _hints(cast(Any, kind))
    fields = {**dict.fromkeys(hints), **answer}
    return cast(_V, {name: _deeper(hints.get(name), value) for name, value in fields.items()})


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _deeper(hint: Any, value: Any) -> Any:
    if isinstance(value, dict):
        # A nested dictionary type, or an optional one.
        kinds = [one for one in (hint, *get_args(hint)) if is_typeddict(one)]
        return filled(kinds[0], value) if kinds else value
    if isinstance(value, list) and get_args(hint):
        return [_deeper(get_args(hint)[0], one) for one in value]
    return value
