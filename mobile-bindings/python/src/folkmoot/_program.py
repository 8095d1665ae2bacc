"""The command-line program, which the wheel does not contain."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Union

from .errors import BadOptionError

Source = Union[str, "os.PathLike[str]"]
"""A path."""

ADVICE = (
    "build it from a clone with `cargo build --release`, and set FOLKMOOT_PROGRAM to target/release/folkmoot, "
    "or put that folder on the PATH"
)
STOP_SECONDS = 5.0
"""The time that the program has to end before it is killed."""


def find(given: Source | None, purpose: str) -> str:
    """Returns the absolute path of the program: `given`, or `FOLKMOOT_PROGRAM`, or the program on the PATH.

    Raises BadOptionError if there is none. `purpose` completes "which …".
    """
    named = os.fspath(given) if given is not None else os.environ.get("FOLKMOOT_PROGRAM") or "folkmoot"
    found = shutil.which(named)
    if found is None:
        raise BadOptionError(f"cannot find the program `{named}`, which {purpose}: {ADVICE}")
    return os.path.abspath(found)


def end(process: subprocess.Popen[Any], seconds: float = STOP_SECONDS) -> None:
    """Ends the program: asks it to, and kills it after these seconds."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
