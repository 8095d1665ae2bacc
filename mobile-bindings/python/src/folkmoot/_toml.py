"""Writes settings as TOML for a program that reads files. Python's standard library can only read TOML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import BadOptionError


def text(settings: Mapping[str, Any]) -> str:
    """Returns the settings as TOML, with one line for each top-level key. Keys whose value is None are left out.

    Raises BadOptionError for a value that TOML cannot represent.
    """
    lines = [f"{_key(key)} = {_value(value, key)}\n" for key, value in settings.items() if value is not None]
    return "".join(lines)


def _value(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one, f'{place}.{key}')}" for key, one in value.items() if one is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(one, place) for one in value)}]"
    if hasattr(value, "item"):  # A NumPy number.
        return _value(value.item(), place)
    raise BadOptionError(
        f"{place} is a {type(value).__name__}, which TOML cannot represent; use str, int, float, bool, list and dict"
    )


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else _string(key)


def _string(value: str) -> str:
    # TOML accepts JSON's escapes. It also requires U+007F to be escaped, which JSON does not do.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
