"""Forwards the native library's log to Python's `logging`."""

from __future__ import annotations

import logging

from ._native import folkmoot_mobile as native

_LEVELS = {
    native.LogLevel.ERROR: logging.ERROR,
    native.LogLevel.WARN: logging.WARNING,
    native.LogLevel.INFO: logging.INFO,
    native.LogLevel.DEBUG: logging.DEBUG,
}


class _Sink(native.LogSink):
    def log(self, level: native.LogLevel, target: str, line: str) -> None:
        logging.getLogger("folkmoot." + target.split("::")[0].removeprefix("folkmoot_")).log(_LEVELS[level], line)


def begin() -> None:
    """Forwards the log to `logging`, at the level that the logger `folkmoot` has when the first client is created."""
    threshold = logging.getLogger("folkmoot").getEffectiveLevel()
    levels = [level for level, number in _LEVELS.items() if number >= threshold]
    native.set_log_sink(_Sink(), levels[-1] if levels else native.LogLevel.ERROR)
