"""Fills the fields that the coordinator leaves out of its answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints, is_typeddict

from .._notebook import html

_V = TypeVar("_V")
_SECRETS = ("token", "api_key")
"""The fields of `CreatedToken` and `CreatedApiKey` that are secrets."""


class View(dict[str, Any]):
    """An answer: a dictionary that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html.facts(_facts(self))


class SecretView(View):
    """An answer with a secret. Neither notebooks, which save their output, nor logs show the secret."""

    def __repr__(self) -> str:
        return repr({name: _hidden(name) if name in _SECRETS else value for name, value in self.items()})


def filled(kind: type[_V], answer: Mapping[str, Any]) -> _V:
    """Returns the answer with None for each missing field of `kind`, nested fields included."""
    hints = _hints(cast(Any, kind))
    fields = {**dict.fromkeys(hints), **answer}
    view = View if fields.keys().isdisjoint(_SECRETS) else SecretView
    return cast(_V, view((name, _deeper(hints.get(name), value)) for name, value in fields.items()))


def _hidden(*path: str) -> str:
    """Says where a secret is."""
    return "hidden; read it with row" + "".join(f'["{name}"]' for name in path)


def _facts(answer: Mapping[str, Any], prefix: str = "") -> dict[str, html.Figure]:
    """Returns the fields as short texts. Fields of a dictionary have its name in front, down to the second level."""
    facts: dict[str, html.Figure] = {}
    for name, value in answer.items():
        place = prefix + name
        if isinstance(value, dict) and not prefix:
            facts |= _facts(value, f"{place}.")
        elif isinstance(value, (dict, list)):
            facts[place] = f"{len(value)} {'fields' if isinstance(value, dict) else 'items'}"
        elif name in _SECRETS and isinstance(value, str):
            facts[place] = _hidden(*place.split("."))
        elif name.endswith("_at") and isinstance(value, int):
            facts[place] = _time(value)
        else:
            facts[place] = value
    return facts


def _time(milliseconds: int) -> html.Figure:
    """Returns a time as text, or the number if no calendar has it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(milliseconds / 1000))
    except (OverflowError, OSError, ValueError):
        return milliseconds


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
