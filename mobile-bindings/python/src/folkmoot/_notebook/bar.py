"""A progress bar: tqdm's if it is installed, or else one line in a terminal."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Union

CELLS = 24
"""The width of the plain bar, in characters."""


Total = Union[int, Callable[[], Union[int, None]], None]


class Bar:
    """A progress bar on standard error.

    `wanted` shows it or not. With None it is shown in a terminal, in a notebook with tqdm, and nowhere else, so that logs stay short.
    `total` is None if the end is not known. A function that finds it is called only if the bar is shown.
    """

    def __init__(self, wanted: bool | None, title: str, total: Total, unit: str) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        is_shown = (is_terminal or _is_notebook()) if wanted is None else wanted
        if callable(total):
            total = total() if is_shown else None
        self._title, self._total, self._unit = title, total, unit
        self._bar = _tqdm(title, total, unit) if is_shown else None
        self._is_plain = is_shown and self._bar is None and (is_terminal or wanted is True)
        self._end = "\r" if is_terminal else "\n"
        self._longest = 0
        self._shown: tuple[int, str, int | None] | None = None

    def show(self, done: int, words: str = "") -> None:
        """Shows that `done` units are done, and a short text."""
        if (done, words, self._total) == self._shown:
            return
        self._shown = (done, words, self._total)
        if self._bar is not None:
            self._bar.set_postfix_str(words, refresh=False)
            self._bar.update(done - self._bar.n)
            self._bar.refresh()
        elif self._is_plain:
            line = f"{self._title} {self._measure(done)} {self._unit}  {words}".rstrip()
            # Blanks delete the rest of a longer line.
            print(line.ljust(self._longest), end=self._end, file=sys.stderr, flush=True)
            self._longest = max(self._longest, len(line)) if self._end == "\r" else 0

    def finish(self, total: int) -> None:
        """Shows that all `total` units are done. The total that was given before may have been an estimate."""
        self._total = total
        if self._bar is not None:
            self._bar.total = total
        self.show(total)

    def close(self) -> None:
        """Ends the bar's line. Calling it again has no effect."""
        if self._bar is not None:
            self._bar.close()
        elif self._is_plain and self._longest:
            print(file=sys.stderr, flush=True)
        self._bar, self._is_plain = None, False

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _measure(self, done: int) -> str:
        if self._total is None:
            return str(done)
        filled = round(CELLS * min(done, self._total) / max(self._total, 1))
        return f"[{'#' * filled}{'.' * (CELLS - filled)}] {done}/{self._total}"


def _is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    python: Any = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _tqdm(title: str, total: int | None, unit: str) -> Any:
    """Returns a bar of tqdm; None if tqdm is not installed."""
    try:
        with warnings.catch_warnings():
            # In a notebook without ipywidgets, tqdm draws the bar as text and warns about it.
            warnings.simplefilter("ignore")
            return importlib.import_module("tqdm.auto").tqdm(desc=title, total=total, unit=f" {unit}")
    except ImportError:
        return None
