"""Forwards the native library's log to Python's `logging`, and keeps a message of graphics drivers off the terminal."""

from __future__ import annotations

import logging
import os
import sys

from ._native import folkmoot_mobile as native

_LEVELS = {
    native.LogLevel.ERROR: logging.ERROR,
    native.LogLevel.WARN: logging.WARNING,
    native.LogLevel.INFO: logging.INFO,
    native.LogLevel.DEBUG: logging.DEBUG,
}


_LEAVES_OUT = "NODEVICE_SELECT"
_NEEDED = ("XDG_RUNTIME_DIR", "MESA_VK_DEVICE_SELECT", "DRI_PRIME", _LEAVES_OUT)


class _Sink(native.LogSink):
    def log(self, level: native.LogLevel, target: str, line: str) -> None:
        logging.getLogger("folkmoot." + target.split("::")[0].removeprefix("folkmoot_")).log(_LEVELS[level], line)


def begin() -> None:
    """Forwards the log to `logging`, at the level that the logger `folkmoot` has when the first client is created."""
    threshold = logging.getLogger("folkmoot").getEffectiveLevel()
    levels = [level for level, number in _LEVELS.items() if number >= threshold]
    native.set_log_sink(_Sink(), levels[-1] if levels else native.LogLevel.ERROR)


def quieten_graphics() -> None:
    """Disables a layer of Mesa's Vulkan drivers, unless the user chooses an adapter with it.

    Without a desktop, this layer prints an error whenever the adapters are listed, because it chooses an adapter by the
    screen. Does nothing on systems other than Linux.
    """
    if sys.platform == "linux" and not any(name in os.environ for name in _NEEDED):
        os.environ[_LEAVES_OUT] = "1"
